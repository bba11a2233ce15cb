/* Wakes of one thread by another, by futex(2) alone: the face for Go. */
#ifndef FIBERLAB_FUTEXWAKE_H
#define FIBERLAB_FUTEXWAKE_H

#include <stddef.h>
#include <stdint.h>

/* Measures n wakes, each after quiet nanoseconds in which both threads slept, and stores for each
 * the nanoseconds from before the call that woke the sleeper until the sleeper ran. Both threads
 * are made here and bound to no processor. Blocks. Returns 0, or the error of pthread_create. */
int futexwake_measure(uint64_t quiet, size_t n, uint64_t *nanoseconds);

#endif
