/* Load buffering: does each of two threads read what the other one stores afterwards? Outcome: a,
 * b. */
#include "litmus.h"

#ifndef LOAD
#define LOAD rlx
#endif
#ifndef STORE
#define STORE rlx
#endif

static atomic_int x, y;
static int a, b;

static void first(void *unused) {
    (void)unused;
    a = get(x, LOAD);
    set(y, 1, STORE);
}

static void second(void *unused) {
    (void)unused;
    b = get(y, LOAD);
    set(x, 1, STORE);
}

void explore_test(void) {
    together(first, second);
    explore_outcome(10 * a + b);
}
