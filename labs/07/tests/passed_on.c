/* Worker 0 is about to sleep, and finds something else to do. Worker 1 waits for the work that a
 * thread brings. */
#include "../sleep.h"
#include <stddef.h>

static atomic_int work;

static void busy(void *unused) {
    (void)unused;
    eventcount_prepare(0);
    eventcount_cancel(0);
}

static void waiting(void *unused) {
    (void)unused;
    eventcount_prepare(1);
    if (atomic_load(&work))
        eventcount_cancel(1);
    else
        eventcount_wait(1);
}

void explore_test(void) {
    int threads[] = {explore_start(busy, NULL), explore_start(waiting, NULL)};

    atomic_store(&work, 1);
    eventcount_notify();
    for (int i = 0; i < 2; i++)
        explore_join(threads[i]);
}
