/* What the tests share: how a worker sleeps, and memory. Worker 0 is thread 0, and worker 1 is
 * thread 1. */
#include <explore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "../forkjoin.h"

#ifndef OWN_SLEEP
void worker_sleep(int self) {
    (void)self;
    explore_park();
}
#endif

void worker_wake(int worker) {
    explore_unpark(worker);
}

static int blocks[WORKERS]; /* taken minus given back, by each thread */

void *memory_new(size_t size) {
    blocks[explore_self()]++;
    return malloc(size);
}

void memory_free(void *memory) {
    blocks[explore_self()]--;
    free(memory);
}

/* At the end of a test without fibers. */
static inline void check_memory(void) {
    explore_check(blocks[0] + blocks[1] == 0, "the memory of all futures is freed");
}
