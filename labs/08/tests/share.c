/* A worker waits. Another one submits two tasks and runs none. */
#include "workers.h"

static void worker(void *unused) {
    (void)unused;
    run(pool_next(1));
    run(pool_next(1));
}

void explore_test(void) {
    int other = explore_start(worker, NULL);

    pool_submit(0, ready(0));
    pool_submit(0, ready(1));
    explore_join(other);
}
