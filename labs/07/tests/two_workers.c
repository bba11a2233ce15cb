/* Two workers take one task each. Two threads put the tasks. */
#include "../sleep.h"
#include <stddef.h>

static void worker(void *unused) {
    (void)unused;
    explore_take((unsigned long)queue_take());
}

static void put(void *task) {
    explore_put((unsigned long)*(int *)task);
    queue_put(*(int *)task);
}

void explore_test(void) {
    int tasks[] = {1, 2};
    int threads[] = {explore_start(worker, NULL), explore_start(worker, NULL),
                     explore_start(put, &tasks[0])};

    put(&tasks[1]);
    for (int i = 0; i < 3; i++)
        explore_join(threads[i]);
}
