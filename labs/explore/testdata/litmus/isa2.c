/* ISA2: does a message get lost on the way over two flags? Outcome: first flag, second flag,
 * message. */
#include "litmus.h"

#ifndef STORE_1
#define STORE_1 rel
#endif
#ifndef LOAD_1
#define LOAD_1 acq
#endif
#ifndef STORE_2
#define STORE_2 rel
#endif
#ifndef LOAD_2
#define LOAD_2 acq
#endif

static atomic_int message, flag_1, flag_2;
static int f, g, m;

static void writer(void *unused) {
    (void)unused;
    set(message, 1, rlx);
    set(flag_1, 1, STORE_1);
}

static void middle(void *unused) {
    (void)unused;
    f = get(flag_1, LOAD_1);
    set(flag_2, 1, STORE_2);
}

static void reader(void *unused) {
    (void)unused;
    g = get(flag_2, LOAD_2);
    m = get(message, rlx);
}

void explore_test(void) {
    together(writer, middle, reader);
    explore_outcome(100 * f + 10 * g + m);
}
