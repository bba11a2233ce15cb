/* Worker 0 forks a task and gets it, while worker 1 looks for one. */
#include "workers.h"

static long task(int self, void *argument) {
    (void)self;
    explore_take(1);
    return *(int *)argument;
}

static void other(void *unused) {
    (void)unused;
    future_step(1);
}

void explore_test(void) {
    keep_apart();
    int *number = malloc(sizeof *number);
    int thread = explore_start(other, NULL);

    *number = 7;
    explore_put(1);
    struct future *f = future_fork(0, task, number);
    explore_check(future_get(0, f) == 7, "a get returns what the task has returned");
    free(number);
    explore_join(thread);
    future_drop(0, f);
    check_memory();
}
