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

/* Has ring_run go round the caller and the first n members alone. */
void ring_limit(struct ring *r, size_t n);

/* Counts the contexts that a lap passes, the caller among them. */
size_t ring_length(const struct ring *r);

/* The bytes of a context in the ring. */
size_t ring_member_size(void);

/* Goes round laps times, with a switch by each, and returns how many nanoseconds that took. */
uint64_t ring_run(struct ring *r, uint64_t laps);

/* Frees the ring. After that the stacks may be freed. */
void ring_close(struct ring *r);

#endif
