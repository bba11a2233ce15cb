/* The pool is stopped while a task may wait for its child. */
#include "workers.h"

static long child(int self, void *argument) {
    (void)self;
    (void)argument;
    return 1;
}

static long root(int self, void *argument) {
    struct future *f = future_fork(self, child, argument);

    pool_stop();
    long result = future_get(self, f) + 1;
    future_drop(self, f);
    note();
    return result;
}

static void other(void *unused) {
    (void)unused;
    pool_run(1);
}

void explore_test(void) {
    keep_apart();
    struct future *f = future_fork(0, root, NULL);
    int thread = explore_start(other, NULL);

    pool_run(0);
    explore_join(thread);
    explore_check(noted() == 1, "pool_run does not return while a task of the worker waits");
    explore_check(future_get(0, f) == 2, "a task's result is that of its children");
    future_drop(0, f);
}
