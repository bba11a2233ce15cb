/* Coherence of a read and a later write of one thread: does the read see what follows the write?
 * Outcome: a, x at the end. */
#include "litmus.h"

#ifndef STORE
#define STORE rlx
#endif
#ifndef LOAD
#define LOAD rlx
#endif

static atomic_int x;
static int a;

static void reader(void *unused) {
    (void)unused;
    a = get(x, LOAD);
    set(x, 1, STORE);
}

static void writer(void *unused) {
    (void)unused;
    set(x, 2, STORE);
}

void explore_test(void) {
    together(reader, writer);
    explore_outcome(10 * a + get(x, rlx));
}
