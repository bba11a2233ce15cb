/* Read to write causality: does a thread that stores y miss x, if another one has seen x and misses
 * y? Outcome: a, b, c. */
#include "litmus.h"

#ifndef STORE
#define STORE rlx
#endif
#ifndef LOAD
#define LOAD rlx
#endif

static atomic_int x, y;
static int a, b, c;

static void writer(void *unused) {
    (void)unused;
    set(x, 1, STORE);
}

static void reader(void *unused) {
    (void)unused;
    a = get(x, LOAD);
#ifdef FENCE_R
    atomic_thread_fence(FENCE_R);
#endif
    b = get(y, LOAD);
}

static void both(void *unused) {
    (void)unused;
    set(y, 1, STORE);
#ifdef FENCE_B
    atomic_thread_fence(FENCE_B);
#endif
    c = get(x, LOAD);
}

void explore_test(void) {
    together(writer, reader, both);
    explore_outcome(100 * a + 10 * b + c);
}
