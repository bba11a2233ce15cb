/* Two threads that pass a word to and fro by futex: the face for Go. */
#ifndef FIBERLAB_BENCH_THREADS_H
#define FIBERLAB_BENCH_THREADS_H

#include <stdint.h>

struct threads;

/* Starts the second thread, pinned to processor cpu; the caller's thread is the first. Returns NULL
 * on failure; errno says why. */
struct threads *threads_open(int cpu);

/* Passes the word there and back trips times and returns how many nanoseconds that took. Blocks
 * until then. The caller should be pinned to the same processor. */
uint64_t threads_run(struct threads *t, uint64_t trips);

/* Ends the second thread and waits for it. */
void threads_close(struct threads *t);

#endif
