/* A worker takes a task from a queue that is empty at first. */
#include "../sleep.h"
#include <stddef.h>

static void bring(void *unused) {
    (void)unused;
    explore_put(7);
    queue_put(7);
}

void explore_test(void) {
    int thread = explore_start(bring, NULL);

    explore_take((unsigned long)queue_take());
    explore_join(thread);
}
