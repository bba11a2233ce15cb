/* A task is taken by queue_try, while a thread waits for room in the full queue. */
#include "../sleep.h"
#include <stddef.h>

static void put(void *unused) {
    (void)unused;
    queue_put(ROOM);
}

void explore_test(void) {
    int task, thread;

    explore_check(!queue_try(&task), "queue_try finds no task in an empty queue");
    for (int i = 0; i < ROOM; i++)
        queue_put(i);
    thread = explore_start(put, NULL);
    explore_check(queue_try(&task), "queue_try finds a task in a queue that has one");
    explore_check(task == 0, "the task that was put first is taken first");
    explore_join(thread);
}
