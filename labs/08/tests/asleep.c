/* Two workers wait. One task comes from outside, the other one when a worker goes to sleep. */
#define OWN_SLEEP
#include <stdatomic.h>

#include "workers.h"

static atomic_bool submitted;

void worker_sleep(int self) {
    (void)self;
    if (!atomic_exchange(&submitted, true)) {
        pool_submit(OUTSIDE, ready(1));
    }
    explore_park();
}

static void outside(void *unused) {
    (void)unused;
    pool_submit(OUTSIDE, ready(0));
}

static void worker(void *unused) {
    (void)unused;
    run(pool_next(2));
}

void explore_test(void) {
    int threads[] = {explore_start(outside, NULL), explore_start(worker, NULL)};

    run(pool_next(0));
    explore_join(threads[0]);
    explore_join(threads[1]);
}
