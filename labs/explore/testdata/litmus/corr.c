/* Coherence of two reads: does a reader go back to an older value? Outcome: a, b. */
#include "litmus.h"

#ifndef STORE
#define STORE rlx
#endif
#ifndef LOAD
#define LOAD rlx
#endif

static atomic_int x;
static int a, b;

static void writer(void *unused) {
    (void)unused;
    set(x, 1, STORE);
    set(x, 2, STORE);
}

static void reader(void *unused) {
    (void)unused;
    a = get(x, LOAD);
    b = get(x, LOAD);
}

void explore_test(void) {
    together(writer, reader);
    explore_outcome(10 * a + b);
}
