/* A worker prepares to sleep, looks for work once more, and sleeps if it sees none. A thread brings
 * work and notifies. */
#include "../sleep.h"
#include <stddef.h>

static atomic_int work;

static void worker(void *unused) {
    (void)unused;
    eventcount_prepare(0);
    if (atomic_load(&work)) {
        eventcount_cancel(0);
    } else {
        eventcount_wait(0);
        explore_check(atomic_load_explicit(&work, memory_order_relaxed),
                      "eventcount_wait returns when there is work");
    }
}

void explore_test(void) {
    int thread = explore_start(worker, NULL);

    atomic_store(&work, 1);
    eventcount_notify();
    explore_join(thread);
}
