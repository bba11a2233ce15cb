/* A ring of contexts, each of which switches to the next: the face for Go. */
#ifndef FIBERLAB_BENCH_RING_H
#define FIBERLAB_BENCH_RING_H

#include <stddef.h>
#include <stdint.h>

struct ring;

/* Makes a ring of the caller and n members. Returns NULL if there is no memory. */
struct ring *ring_open(size_t n);

/* Gives member i, counted from 0, the stack [lo, top). Every member needs one before ring_run. */
void ring_set_stack(struct ring *r, size_t i, uintptr_t lo, uintptr_t top);

/* Goes round laps times, with n + 1 switches each, and returns how many nanoseconds that took. */
uint64_t ring_run(struct ring *r, uint64_t laps);

/* Frees the ring. After that the stacks may be freed. */
void ring_close(struct ring *r);

#endif
