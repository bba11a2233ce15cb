/* A thief comes while the owner pushes: it sees all of a task, or no task. */
#include "workers.h"

static void thief(void *unused) {
    (void)unused;
    run(deque_steal(0));
    run(deque_steal(0));
}

void explore_test(void) {
    int other = explore_start(thief, NULL);

    deque_push(0, ready(0));
    deque_push(0, ready(1));
    explore_join(other);
    run(deque_steal(0));
    run(deque_steal(0));
}
