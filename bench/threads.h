/* Two threads of the operating system that hand a word back and forth by futex: the face for Go. */
#ifndef FIBERLAB_BENCH_THREADS_H
#define FIBERLAB_BENCH_THREADS_H

#include <stdint.h>

struct threads;

/* Starts the second thread, bound to processor cpu; the caller's thread is the first. NULL: see
 * errno. */
struct threads *threads_open(int cpu);

/* Hands the word there and back trips times and returns the nanoseconds that took. Blocks; the
 * caller should be bound to the same processor. */
uint64_t threads_run(struct threads *t, uint64_t trips);

/* Ends the second thread and waits for it. */
void threads_close(struct threads *t);

#endif
