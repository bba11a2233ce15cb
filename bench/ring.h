/* A ring of contexts, each of which hands the thread on to the next: the face for Go. */
#ifndef FIBERLAB_BENCH_RING_H
#define FIBERLAB_BENCH_RING_H

#include <stddef.h>
#include <stdint.h>

struct ring;

/* A ring of the caller and of room for n members on stacks of their own. NULL: no memory. */
struct ring *ring_open(size_t n);

/* Puts member i, counted from 0, on the stack [lo, top). Every member needs one before ring_run. */
void ring_place(struct ring *r, size_t i, uintptr_t lo, uintptr_t top);

/* Goes round laps times, n + 1 switches each, and returns the nanoseconds that took. */
uint64_t ring_run(struct ring *r, uint64_t laps);

/* Frees the ring; the stacks may go afterwards. */
void ring_close(struct ring *r);

#endif
