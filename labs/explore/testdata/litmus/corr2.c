/* Coherence of two readers: do they see the stores of two writers in different orders?
 * Outcome: a, b, c, d in base 3. */
#include "litmus.h"

#ifndef STORE
#define STORE rlx
#endif
#ifndef LOAD
#define LOAD rlx
#endif

static atomic_int x;
static int a, b, c, d;

static void write_1(void *unused) {
    (void)unused;
    set(x, 1, STORE);
}

static void write_2(void *unused) {
    (void)unused;
    set(x, 2, STORE);
}

static void reader(void *unused) {
    (void)unused;
    a = get(x, LOAD);
    b = get(x, LOAD);
}

static void other_reader(void *unused) {
    (void)unused;
    c = get(x, LOAD);
    d = get(x, LOAD);
}

void explore_test(void) {
    together(write_1, write_2, reader, other_reader);
    explore_outcome(27 * a + 9 * b + 3 * c + d);
}
