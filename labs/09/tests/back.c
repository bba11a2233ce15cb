/* A task forks two others, gets the first one, and computes until the second one has ended. */
#include "workers.h"

static atomic_bool done;

static long first(int self, void *argument) {
    (void)self;
    (void)argument;
    return 1;
}

static long second(int self, void *argument) {
    (void)self;
    (void)argument;
    note();
    atomic_store(&done, true);
    return 2;
}

static long root(int self, void *argument) {
    struct future *one = future_fork(self, first, argument);
    struct future *two = future_fork(self, second, argument);
    long result = future_get(self, one);

    future_drop(self, one);
    while (!atomic_load(&done)) { /* computes */
        explore_yield();
    }
    explore_check(noted() == 1, "the other worker runs the second task");
    result += future_get(self, two);
    future_drop(self, two);
    pool_stop();
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
    explore_check(future_get(0, f) == 3, "a task's result is that of its children");
    explore_join(thread);
    future_drop(0, f);
}
