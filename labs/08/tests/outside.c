/* Two threads bring tasks from outside, and a worker looks. */
#include "workers.h"

static void worker(void *unused) {
    (void)unused;
    run(pool_find(1));
    run(pool_find(1));
}

static void outsider(void *unused) {
    (void)unused;
    pool_submit(OUTSIDE, ready(0));
}

void explore_test(void) {
    int threads[] = {explore_start(worker, NULL), explore_start(outsider, NULL)};

    pool_submit(OUTSIDE, ready(1));
    explore_join(threads[0]);
    explore_join(threads[1]);
    pool_submit(OUTSIDE, ready(2));
    for (int i = 0; i < 3; i++) {
        run(pool_find(2));
    }
}
