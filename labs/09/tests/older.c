/* Futures are given back in another order than the usual one, and their entries remain. */
#include "workers.h"

static long task(int self, void *argument) {
    (void)self;
    explore_take(*(int *)argument);
    return 0;
}

static void other(void *unused) {
    (void)unused;
    while (future_step(1)) {
    }
}

void explore_test(void) {
    keep_apart();
    static int numbers[] = {0, 1};
    explore_put(0);
    explore_put(1);
    struct future *one = future_fork(0, task, &numbers[0]),
                  *two = future_fork(0, task, &numbers[1]);
    int thread = explore_start(other, NULL);

    future_get(0, one);
    future_drop(0, one);
    future_get(0, two);
    future_drop(0, two);
    explore_join(thread);
    while (future_step(0)) { /* the entries that remain */
    }
    check_memory();
}
