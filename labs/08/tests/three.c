/* The owner and two thieves come for two tasks: all of these get out. */
#include "workers.h"

static void thief(void *unused) {
    (void)unused;
    run(deque_steal(0));
}

void explore_test(void) {
    deque_push(0, ready(0));
    deque_push(0, ready(1));
    int thieves[] = {explore_start(thief, NULL), explore_start(thief, NULL)};
    run(deque_take(0));
    explore_join(thieves[0]);
    explore_join(thieves[1]);
}
