/* Both workers run a task that forks another one and gets it. No future is given back. */
#include "workers.h"

static long child(int self, void *argument) {
    (void)self;
    (void)argument;
    return 1;
}

static long parent(int self, void *argument) {
    return future_get(self, future_fork(self, child, argument)) + 1;
}

static void other(void *unused) {
    (void)unused;
    future_step(1);
}

void explore_test(void) {
    keep_apart();
    struct future *one = future_fork(0, parent, NULL), *two = future_fork(0, parent, NULL);
    int thread = explore_start(other, NULL);

    future_step(0);
    explore_check(future_get(0, one) + future_get(0, two) == 4,
                  "each parent gets its child's result");
    explore_join(thread);
}
