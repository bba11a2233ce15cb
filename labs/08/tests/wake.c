/* A worker waits, and a task comes from outside. */
#include "workers.h"

static void worker(void *unused) {
    (void)unused;
    struct task *task = pool_next(1);

    explore_check(task != NULL, "pool_next returns a task");
    run(task);
}

void explore_test(void) {
    int other = explore_start(worker, NULL);

    pool_submit(OUTSIDE, ready(0));
    explore_join(other);
}
