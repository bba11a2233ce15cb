/* Two workers are about to sleep. There is one task already, and one more is submitted. */
#include "../sleep.h"
#include <stddef.h>

static void worker(void *number) {
    int task;

    while (!worker_sleep(*(int *)number, &task)) {
    }
    explore_take((unsigned long)task);
}

void explore_test(void) {
    int number[] = {0, 1};

    explore_put(1);
    explore_put(2);
    queue_put(1);

    int threads[] = {explore_start(worker, &number[0]), explore_start(worker, &number[1])};

    worker_submit(2);
    for (int i = 0; i < 2; i++)
        explore_join(threads[i]);
}
