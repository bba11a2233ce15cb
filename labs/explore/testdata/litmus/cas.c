/* Two compare-and-swaps from 0: do both succeed? Outcome: which succeeded, a and b. */
#include "litmus.h"

#ifndef ORDER
#define ORDER rlx
#endif

#ifdef WEAK
#define swap atomic_compare_exchange_weak_explicit
#else
#define swap atomic_compare_exchange_strong_explicit
#endif

static atomic_int x;
static int a, b;

static void first(void *unused) {
    (void)unused;
    int none = 0;
    a = swap(&x, &none, 1, ORDER, rlx);
}

static void second(void *unused) {
    (void)unused;
    int none = 0;
    b = swap(&x, &none, 2, ORDER, rlx);
}

void explore_test(void) {
    together(first, second);
    explore_outcome(10 * a + b);
}
