/* The owner and a thief come for the last two tasks. */
#include "workers.h"

static void thief(void *unused) {
    (void)unused;
    run(deque_steal(0));
    run(deque_steal(0));
}

void explore_test(void) {
    deque_push(0, ready(0));
    deque_push(0, ready(1));
    int other = explore_start(thief, NULL);
    run(deque_take(0));
    run(deque_take(0));
    explore_join(other);
    explore_check(deque_take(0) == NULL, "a deque whose tasks have come out is empty");
    deque_push(0, ready(2));
    run(deque_steal(0));
}
