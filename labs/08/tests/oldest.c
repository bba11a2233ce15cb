/* A thief, while no other thread does anything: the oldest task comes out first. */
#include "workers.h"

void explore_test(void) {
    explore_check(deque_steal(0) == NULL, "nothing can be stolen from a new deque");
    for (int round = 0; round < 3; round++) {
        deque_push(0, &tasks[0]);
        deque_push(0, &tasks[1]);
        explore_check(deque_steal(1) == NULL, "each worker has its own deque");
        explore_check(deque_steal(0) == &tasks[0], "a thief gets the oldest task");
        explore_check(deque_push(0, &tasks[2]), "the slot of a stolen task is free");
        explore_check(!deque_push(0, &tasks[3]), "a deque has no more than CAPACITY tasks");
        explore_check(deque_steal(0) == &tasks[1], "the next thief gets the next one");
        explore_check(deque_take(0) == &tasks[2], "the owner gets the last one");
        explore_check(deque_steal(0) == NULL, "then there is nothing to steal");
        explore_check(deque_take(0) == NULL, "nor to take");
    }
}
