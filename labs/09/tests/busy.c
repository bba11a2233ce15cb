/* A task forks another one, and computes until that has ended: the other worker has to run it. */
#include "workers.h"

static atomic_bool done;

static long child(int self, void *argument) {
    (void)self;
    (void)argument;
    note();
    atomic_store(&done, true);
    return 0;
}

static long root(int self, void *argument) {
    struct future *f = future_fork(self, child, argument);

    while (!atomic_load(&done)) { /* computes */
        explore_yield();
    }
    explore_check(noted() == 1, "the other worker runs the task");
    future_drop(self, f);
    pool_stop();
    explore_take(1);
    return 0;
}

static void other(void *unused) {
    (void)unused;
    pool_run(1);
}

void explore_test(void) {
    keep_apart();
    explore_put(1);
    struct future *f = future_fork(0, root, NULL);
    int thread = explore_start(other, NULL);

    pool_run(0);
    explore_join(thread);
    future_drop(0, f);
}
