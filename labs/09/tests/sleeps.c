/* Worker 0 gets a task that worker 1 runs, until worker 0 sleeps. */
#define OWN_SLEEP
#include "workers.h"

static atomic_bool begun, slept;

void worker_sleep(int self) {
    if (self == 0) {
        note();
        atomic_store(&slept, true);
    }
    explore_park();
}

static long task(int self, void *argument) {
    (void)self;
    (void)argument;
    atomic_store(&begun, true);
    while (!atomic_load(&slept)) {
        explore_yield();
    }
    explore_check(noted() > 0, "worker 0 sleeps");
    return 1;
}

static void other(void *unused) {
    (void)unused;
    future_step(1);
}

void explore_test(void) {
    keep_apart();
    struct future *f = future_fork(0, task, NULL);
    int thread = explore_start(other, NULL);

    while (!atomic_load(&begun)) {
        explore_yield();
    }
    explore_check(future_get(0, f) == 1, "a get waits for a task in progress");
    explore_join(thread);
    future_drop(0, f);
    check_memory();
}
