/* Independent reads of independent writes: do two readers see two stores in different orders?
 * Outcome: a, b, c, d in base 2. */
#include "litmus.h"

#ifndef STORE
#define STORE rlx
#endif
#ifndef LOAD
#define LOAD rlx
#endif

static atomic_int x, y;
static int a, b, c, d;

static void write_x(void *unused) {
    (void)unused;
    set(x, 1, STORE);
}

static void write_y(void *unused) {
    (void)unused;
    set(y, 1, STORE);
}

static void read_xy(void *unused) {
    (void)unused;
    a = get(x, LOAD);
#ifdef FENCE
    atomic_thread_fence(FENCE);
#endif
    b = get(y, LOAD);
}

static void read_yx(void *unused) {
    (void)unused;
    c = get(y, LOAD);
#ifdef FENCE
    atomic_thread_fence(FENCE);
#endif
    d = get(x, LOAD);
}

void explore_test(void) {
    together(write_x, write_y, read_xy, read_yx);
    explore_outcome(8 * a + 4 * b + 2 * c + d);
}
