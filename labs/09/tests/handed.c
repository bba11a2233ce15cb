/* Worker 0 forks a task, and hands its future to worker 1. */
#include "workers.h"

static long task(int self, void *argument) {
    (void)self;
    explore_take(1);
    return *(int *)argument;
}

static void other(void *f) {
    explore_check(future_get(1, f) == 7, "any worker may get the result of a task");
    future_drop(1, f);
}

void explore_test(void) {
    keep_apart();
    int *number = malloc(sizeof *number);

    *number = 7;
    explore_put(1);
    int thread = explore_start(other, future_fork(0, task, number));
    future_step(0);
    explore_join(thread);
    free(number);
    check_memory();
}
