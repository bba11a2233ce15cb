/* Write to read causality: does a thread miss what another one had seen before it set a flag?
 * Outcome: a, flag, c. */
#include "litmus.h"

#ifndef STORE
#define STORE rlx
#endif
#ifndef LOAD
#define LOAD rlx
#endif

static atomic_int x, flag;
static int a, f, c;

static void writer(void *unused) {
    (void)unused;
    set(x, 1, rlx);
}

static void middle(void *unused) {
    (void)unused;
    a = get(x, rlx);
    set(flag, 1, STORE);
}

static void reader(void *unused) {
    (void)unused;
    f = get(flag, LOAD);
    c = get(x, rlx);
}

void explore_test(void) {
    together(writer, middle, reader);
    explore_outcome(100 * a + 10 * f + c);
}
