/* Where a worker looks: its own deque, tasks from outside, the other workers. */
#include "workers.h"

void explore_test(void) {
    for (int self = 0; self < WORKERS; self++) {
        explore_check(pool_find(self) == NULL, "a new pool has no task");
    }
    for (int self = 0; self < WORKERS; self++) {
        int one = (self + 1) % WORKERS, two = (self + 2) % WORKERS;

        pool_submit(one, &tasks[0]);
        pool_submit(two, &tasks[1]);
        pool_submit(OUTSIDE, &tasks[2]);
        pool_submit(OUTSIDE, &tasks[3]);
        pool_submit(self, &tasks[4]);
        pool_submit(self, &tasks[5]);
        pool_submit(self, &tasks[6]); /* its deque is full */
        explore_check(pool_find(self) == &tasks[5], "a worker's newest task comes first");
        explore_check(pool_find(self) == &tasks[4], "the rest of its deque comes next");
        explore_check(pool_find(self) == &tasks[2], "then the oldest task from outside");
        explore_check(pool_find(self) == &tasks[3], "then the next one from outside");
        explore_check(pool_find(self) == &tasks[6], "a full deque's task waits there, too");
        struct task *first = pool_find(self), *second = pool_find(self);
        explore_check(first != NULL && second != NULL, "a worker steals from each other one");
        explore_check(pool_find(self) == NULL, "then there is no task");
        pool_submit(OUTSIDE, &tasks[2]);
        explore_check(pool_find(self) == &tasks[2], "a task may be submitted again");
        explore_check(pool_find(self) == NULL, "and comes out once");
    }
}
