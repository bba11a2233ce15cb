/* Coherence of two writes of one thread: does the first one win? Outcome: x at the end. */
#include "litmus.h"

#ifndef STORE
#define STORE rlx
#endif

static atomic_int x;

static void writer(void *unused) {
    (void)unused;
    set(x, 1, STORE);
    set(x, 2, STORE);
}

static void reader(void *unused) {
    (void)unused;
    (void)get(x, rlx);
}

void explore_test(void) {
    together(writer, reader);
    explore_outcome(get(x, rlx));
}
