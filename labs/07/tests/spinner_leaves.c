/* Worker 0 spins, and finds something else to do. Worker 1 waits for the work that a thread
 * brings. */
#include "../sleep.h"
#include <stddef.h>

static atomic_int work;

static void spinner(void *unused) {
    (void)unused;
    explore_check(eventcount_spin(0), "a worker may spin while no other one does");
    eventcount_stop(0, true);
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
    int threads[] = {explore_start(spinner, NULL), explore_start(waiting, NULL)};

    atomic_store(&work, 1);
    eventcount_notify();
    for (int i = 0; i < 2; i++)
        explore_join(threads[i]);
}
