/* Worker 0 forks a task on its own memory, and gives it back, while worker 1 looks for one. */
#include "workers.h"

static long task(int self, void *argument) {
    (void)self;
    return ++*(int *)argument;
}

static void other(void *unused) {
    (void)unused;
    future_step(1);
}

void explore_test(void) {
    keep_apart();
    int *number = malloc(sizeof *number);

    *number = 0;
    struct future *f = future_fork(0, task, number);
    explore_check(future_get(0, f) == 1, "a get returns what the task has returned");
    future_drop(0, f);

    int thread = explore_start(other, NULL);
    f = future_fork(0, task, number);
    future_drop(0, f);
    free(number); /* the task does not run any more */
    explore_join(thread);
    explore_check(!future_step(0), "the entry of a task that was given back leaves the deque");
    check_memory();
}
