/* A worker takes two tasks while they are submitted: one when it sleeps, and one by all its
 * steps. */
#include "../sleep.h"
#include <stddef.h>

static void worker(void *unused) {
    int task;

    (void)unused;
    explore_check(worker_sleep(0, &task), "a worker sleeps until there is a task for it");
    explore_take((unsigned long)task);
    explore_take((unsigned long)worker_next(0));
}

void explore_test(void) {
    int thread = explore_start(worker, NULL);

    for (int task = 1; task <= 2; task++) {
        explore_put((unsigned long)task);
        worker_submit(task);
    }
    explore_join(thread);
}
