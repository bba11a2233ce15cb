/* Threads of the kernel: the face for Go. The functions block until they are done, and return how
 * many nanoseconds that took, or 0 if a thread could not be made. The caller should be pinned to a
 * processor: the threads that it makes are as well. */
#ifndef FIBERLAB_BENCH_THREADS_H
#define FIBERLAB_BENCH_THREADS_H

#include <stdint.h>

/* Makes a thread and passes a word to it and back trips times, by futex. */
uint64_t threads_run(uint64_t trips);

/* Makes n threads that do nothing, one after the other, and waits for the end of each. */
uint64_t threads_create(uint64_t n);

#endif
