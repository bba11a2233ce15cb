/* A worker is about to sleep, is notified, and finds something else to do. The next time it
 * sleeps. */
#include "../sleep.h"
#include <stddef.h>

static atomic_int work;

static void busy(void *unused) {
    (void)unused;
    eventcount_prepare(0);
    eventcount_cancel(0);
}

static void sleeps(void *unused) {
    (void)unused;
    eventcount_prepare(0);
    if (atomic_load(&work)) {
        eventcount_cancel(0);
    } else {
        eventcount_wait(0);
        explore_check(atomic_load_explicit(&work, memory_order_relaxed),
                      "a notification before eventcount_prepare ends no wait");
    }
}

void explore_test(void) {
    int thread = explore_start(busy, NULL);

    eventcount_notify();
    explore_join(thread);
    thread = explore_start(sleeps, NULL);
    atomic_store(&work, 1);
    eventcount_notify();
    explore_join(thread);
}
