/* Worker 0 spins, and is notified. Then it spins, and finds something to do. Worker 1 sleeps until
 * there is work. */
#include "../sleep.h"
#include <stddef.h>

static atomic_int work;

static void sleeps(void *unused) {
    (void)unused;
    eventcount_prepare(1);
    if (atomic_load(&work)) {
        eventcount_cancel(1);
    } else {
        eventcount_wait(1);
        explore_check(atomic_load_explicit(&work, memory_order_relaxed),
                      "a worker sleeps on while the notification is for one that spins");
    }
}

void explore_test(void) {
    int thread = explore_start(sleeps, NULL);

    explore_check(eventcount_spin(0), "a worker may spin while no other one does");
    eventcount_notify();
    eventcount_stop(0, false);
    explore_check(eventcount_spin(0), "a worker may spin again");
    eventcount_stop(0, true);
    atomic_store(&work, 1);
    eventcount_notify();
    explore_join(thread);
}
