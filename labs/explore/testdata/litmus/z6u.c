/* Z6.U: sequentially consistent accesses whose order contradicts happens-before. Outcome: what the
 * addition read, y, x. */
#include "litmus.h"

static atomic_int x, y;
static int a, b, c;

static void first(void *unused) {
    (void)unused;
    set(x, 1, sc);
    set(y, 1, rel);
}

static void second(void *unused) {
    (void)unused;
    a = atomic_fetch_add_explicit(&y, 1, sc);
    b = get(y, rlx);
}

static void third(void *unused) {
    (void)unused;
    set(y, 3, sc);
    c = get(x, sc);
}

void explore_test(void) {
    together(first, second, third);
    explore_outcome(100 * a + 10 * b + c);
}
