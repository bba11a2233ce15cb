/* Two additions of 1: does one of them get lost? Outcome: a, b, x at the end. */
#include "litmus.h"

#ifndef ORDER
#define ORDER rlx
#endif

static atomic_int x;
static int a, b;

static void first(void *unused) {
    (void)unused;
    a = atomic_fetch_add_explicit(&x, 1, ORDER);
}

static void second(void *unused) {
    (void)unused;
    b = atomic_fetch_add_explicit(&x, 1, ORDER);
}

void explore_test(void) {
    together(first, second);
    explore_outcome(100 * a + 10 * b + get(x, rlx));
}
