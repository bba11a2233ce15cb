/* Both workers run. A task stops them: the other one may sleep, or be about to. */
#include "workers.h"

static long task(int self, void *argument) {
    (void)self;
    (void)argument;
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
    struct future *f = future_fork(0, task, NULL);
    int thread = explore_start(other, NULL);

    pool_run(0);
    explore_join(thread);
    future_drop(0, f);
}
