/* Both workers run a task that forks another one and gets it. */
#include "workers.h"

static long child(int self, void *argument) {
    (void)self;
    (void)argument;
    return 1;
}

static long parent(int self, void *argument) {
    struct future *f = future_fork(self, child, argument);
    long result = future_get(self, f);

    future_drop(self, f);
    return result + 1;
}

static void other(void *unused) {
    (void)unused;
    future_step(1);
}

void explore_test(void) {
    struct future *one = future_fork(0, parent, NULL), *two = future_fork(0, parent, NULL);
    int thread = explore_start(other, NULL);

    future_step(0);
    explore_check(future_get(0, one) + future_get(0, two) == 4,
                  "each parent gets its child's result");
    explore_join(thread);
    future_drop(0, one);
    future_drop(0, two);
    check_memory();
}
