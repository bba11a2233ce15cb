/* The owner alone: the newest task comes out first, and a full deque takes no more. */
#include "workers.h"

void explore_test(void) {
    explore_check(deque_take(0) == NULL, "a new deque is empty");
    for (int round = 0; round < 3; round++) { /* from another slot each time */
        explore_check(deque_push(0, &tasks[0]), "an empty deque takes a task");
        explore_check(deque_push(0, &tasks[1]), "a deque takes CAPACITY tasks");
        explore_check(!deque_push(0, &tasks[2]), "a full deque takes no more");
        explore_check(deque_take(0) == &tasks[1], "the newest task comes out first");
        explore_check(deque_push(0, &tasks[3]), "a deque that has given a task takes another one");
        explore_check(deque_take(0) == &tasks[3], "a slot is used again");
        explore_check(deque_take(1) == NULL, "each worker has its own deque");
        explore_check(deque_take(0) == &tasks[0], "the oldest task comes out last");
        explore_check(deque_take(0) == NULL, "then the deque is empty");
        explore_check(deque_take(0) == NULL, "an empty deque stays empty");
        deque_push(0, &tasks[4]);
        explore_check(deque_take(0) == &tasks[4], "a deque that was empty takes a task");
    }
}
