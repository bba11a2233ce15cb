/* A worker waits twice, and is woken twice, each time with a message. */
#include "../sleep.h"
#include <stddef.h>

static int message[2];

static void worker(void *unused) {
    (void)unused;
    for (int i = 0; i < 2; i++) {
        slot_wait(0);
        explore_check(message[i] == 1, "slot_wait returns after a wake of its own, and not before");
    }
}

void explore_test(void) {
    int thread = explore_start(worker, NULL);

    for (int i = 0; i < 2; i++) {
        message[i] = 1;
        slot_wake(0);
    }
    explore_join(thread);
}
