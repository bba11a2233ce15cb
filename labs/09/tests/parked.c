/* A task gets its child, which waits for another task in the same deque. */
#include "workers.h"

static atomic_bool done;

static long third(int self, void *argument) {
    (void)self;
    (void)argument;
    note();
    atomic_store(&done, true);
    worker_wake(0);
    worker_wake(1);
    return 1;
}

static long second(int self, void *argument) {
    (void)argument;
    while (!atomic_load(&done)) { /* as a system call: the worker waits as well */
        worker_sleep(self);
    }
    explore_check(noted() == 1, "the third task runs while the second one waits");
    return 2;
}

static long root(int self, void *argument) {
    struct future *two = future_fork(self, second, argument);
    struct future *three = future_fork(self, third, argument);
    long result = future_get(self, two);

    result += future_get(self, three);
    future_drop(self, two);
    future_drop(self, three);
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
