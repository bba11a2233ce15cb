/* A release sequence through an addition of another thread. Outcome: x (two digits), message. */
#include "litmus.h"

#ifndef STORE
#define STORE rel
#endif
#ifndef LOAD
#define LOAD acq
#endif

static atomic_int message, x;
static int a, m;

static void writer(void *unused) {
    (void)unused;
    set(message, 1, rlx);
    set(x, 1, STORE);
}

static void adder(void *unused) {
    (void)unused;
    atomic_fetch_add_explicit(&x, 10, rlx);
}

static void reader(void *unused) {
    (void)unused;
    a = get(x, LOAD);
    m = get(message, rlx);
}

void explore_test(void) {
    together(writer, adder, reader);
    explore_outcome(10 * a + m);
}
