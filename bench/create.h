/* Threads that are made and end: the face for Go. */
#ifndef FIBERLAB_BENCH_CREATE_H
#define FIBERLAB_BENCH_CREATE_H

#include <stdint.h>

/* Makes n threads that do nothing, one after the other, and waits for the end of each. Returns how
 * many nanoseconds that took, or 0 if a thread could not be made. */
uint64_t create_threads(uint64_t n);

#endif
