/* R: does a thread whose store of y wins miss what was stored before the other store of y? Outcome:
 * y at the end, a. */
#include "litmus.h"

#ifndef STORE
#define STORE rlx
#endif
#ifndef LOAD
#define LOAD rlx
#endif

static atomic_int x, y;
static int a;

static void first(void *unused) {
    (void)unused;
    set(x, 1, STORE);
#ifdef FENCE
    atomic_thread_fence(FENCE);
#endif
    set(y, 1, STORE);
}

static void second(void *unused) {
    (void)unused;
    set(y, 2, STORE);
#ifdef FENCE
    atomic_thread_fence(FENCE);
#endif
    a = get(x, LOAD);
}

void explore_test(void) {
    together(first, second);
    explore_outcome(10 * get(y, rlx) + a);
}
