/* One worker forks tasks and gets their results. */
#include "workers.h"

static long square(int self, void *argument) {
    long n = *(long *)argument;

    explore_check(self == 0, "a task gets the worker that runs it");
    note();
    return n * n;
}

static long fib(int self, void *argument) {
    long n = *(long *)argument, one = n - 1, two = n - 2;

    if (n < 2) {
        return n;
    }
    struct future *f = future_fork(self, fib, &one);
    long result = fib(self, &two) + future_get(self, f);
    future_drop(self, f);
    return result;
}

void explore_test(void) {
    long numbers[] = {2, 3, 4}, five = 5;

    keep_apart();
    explore_check(!future_step(0), "a worker finds nothing in a new pool");
    struct future *a = future_fork(0, square, &numbers[0]);
    struct future *b = future_fork(0, square, &numbers[1]);
    struct future *c = future_fork(0, square, &numbers[2]);
    explore_check(noted() == 0, "a fork only queues the task");
    explore_check(future_get(0, a) == 4 && noted() == 1, "a get runs its own task, and no other");
    explore_check(future_get(0, a) == 4 && noted() == 1, "a task runs once");
    explore_check(future_step(0) && noted() == 2, "a step runs a task");
    explore_check(future_get(0, c) == 16 && noted() == 2, "a step runs the newest task");
    explore_check(future_get(0, b) == 9 && noted() == 3, "a get runs a task that is in the deque");
    while (future_step(0)) { /* the entries that remain */
    }
    explore_check(noted() == 3, "no task runs twice");
    future_drop(0, a);
    future_drop(0, b);
    future_drop(0, c);
    explore_check(fib(0, &five) == 5, "tasks fork tasks");
    check_memory();
}
