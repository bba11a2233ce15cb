/* Store buffering: does each of two threads miss the other one's store? Outcome: a, b. */
#include "litmus.h"

#ifndef STORE_A
#define STORE_A rlx
#endif
#ifndef LOAD_A
#define LOAD_A rlx
#endif
#ifndef STORE_B
#define STORE_B rlx
#endif
#ifndef LOAD_B
#define LOAD_B rlx
#endif

static atomic_int x, y;
static int a, b;

static void first(void *unused) {
    (void)unused;
#ifdef RMW
    atomic_exchange_explicit(&x, 1, STORE_A);
#else
    set(x, 1, STORE_A);
#endif
#ifdef FENCE_A
    atomic_thread_fence(FENCE_A);
#endif
    a = get(y, LOAD_A);
}

static void second(void *unused) {
    (void)unused;
#ifdef RMW
    atomic_exchange_explicit(&y, 1, STORE_B);
#else
    set(y, 1, STORE_B);
#endif
#ifdef FENCE_B
    atomic_thread_fence(FENCE_B);
#endif
    b = get(x, LOAD_B);
}

void explore_test(void) {
    together(first, second);
    explore_outcome(10 * a + b);
}
