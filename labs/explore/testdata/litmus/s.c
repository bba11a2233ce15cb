/* S: does a store win over one that comes after it by way of a flag? Outcome: flag, x at the end.
 */
#include "litmus.h"

#ifndef STORE
#define STORE rlx
#endif
#ifndef LOAD
#define LOAD rlx
#endif

static atomic_int x, flag;
static int f;

static void first(void *unused) {
    (void)unused;
    set(x, 2, rlx);
    set(flag, 1, STORE);
}

static void second(void *unused) {
    (void)unused;
    f = get(flag, LOAD);
    set(x, 1, rlx);
}

void explore_test(void) {
    together(first, second);
    explore_outcome(10 * f + get(x, rlx));
}
