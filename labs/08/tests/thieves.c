/* Two thieves come for two tasks: the one that is second at a task gets the other. */
#include "workers.h"

static void thief(void *unused) {
    (void)unused;
    struct task *task = deque_steal(0);

    explore_check(task != NULL, "a thief gets a task while there is one");
    run(task);
}

void explore_test(void) {
    deque_push(0, ready(0));
    deque_push(0, ready(1));
    int thieves[] = {explore_start(thief, NULL), explore_start(thief, NULL)};
    explore_join(thieves[0]);
    explore_join(thieves[1]);
    explore_check(deque_steal(0) == NULL, "what was stolen is gone");
}
