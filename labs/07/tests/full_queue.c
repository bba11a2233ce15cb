/* Two threads put a task each into a queue that is full at first. */
#include "../sleep.h"
#include <stddef.h>

static void put(void *task) {
    queue_put(*(int *)task);
}

void explore_test(void) {
    int tasks[ROOM + 2];

    for (int i = 0; i < ROOM + 2; i++) {
        tasks[i] = i;
        explore_put((unsigned long)i);
    }
    for (int i = 0; i < ROOM; i++)
        queue_put(i);

    int threads[] = {explore_start(put, &tasks[ROOM]), explore_start(put, &tasks[ROOM + 1])};

    for (int i = 0; i < ROOM + 2; i++) {
        int task = queue_take();

        explore_take((unsigned long)task);
        explore_check(i >= ROOM || task == i, "the task that was put first is taken first");
    }
    for (int i = 0; i < 2; i++)
        explore_join(threads[i]);
}
