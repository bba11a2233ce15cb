/* 2+2W: does the first store of each of two threads come last? Outcome: x and y at the end. */
#include "litmus.h"

#ifndef STORE
#define STORE rlx
#endif

static atomic_int x, y;

static void first(void *unused) {
    (void)unused;
    set(x, 1, STORE);
#ifdef FENCE
    atomic_thread_fence(FENCE);
#endif
    set(y, 2, STORE);
}

static void second(void *unused) {
    (void)unused;
    set(y, 1, STORE);
#ifdef FENCE
    atomic_thread_fence(FENCE);
#endif
    set(x, 2, STORE);
}

void explore_test(void) {
    together(first, second);
    explore_outcome(10 * get(x, rlx) + get(y, rlx));
}
