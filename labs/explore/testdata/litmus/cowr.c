/* Coherence of a write and a later read of one thread: does the read see what the write has
 * replaced? Outcome: a, x at the end. */
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
    set(x, 1, STORE);
    a = get(x, LOAD);
}

static void writer(void *unused) {
    (void)unused;
    set(x, 2, STORE);
}

void explore_test(void) {
    together(reader, writer);
    explore_outcome(10 * a + get(x, rlx));
}
