/* A slot is used again while a thief is on its way to it. */
#include "workers.h"

static void thief(void *unused) {
    (void)unused;
    run(deque_steal(0));
}

void explore_test(void) {
    deque_push(0, ready(0));
    int other = explore_start(thief, NULL);
    run(deque_take(0));
    for (int i = 1; i < 4; i++) {
        if (!deque_push(0, ready(i))) {
            run(&tasks[i]);
        }
    }
    explore_join(other);
    for (int i = 0; i < CAPACITY; i++) {
        run(deque_steal(0));
    }
}
