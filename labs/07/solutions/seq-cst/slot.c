/* A WaitSlot for each worker: section 7.5. Its count is the calls of slot_wake minus the
 * calls of slot_wait. So it keeps a wake that comes first:
 *
 *     wait, wake     0 -> -1 -> 0     the waker unparks the thread
 *     wake, wait     0 ->  1 -> 0     the wait returns at once
 */
#include "sleep.h"

static struct {
    atomic_int count;
    atomic_int thread; /* of the worker. Atomic: a waker may still read it when the wait is over */
} slot[WORKERS];

void slot_wait(int worker) {
    atomic_store(&slot[worker].thread, explore_self());
    if (atomic_fetch_sub(&slot[worker].count, 1) > 0)
        return;
    while (atomic_load(&slot[worker].count) < 0)
        explore_park();
}

void slot_wake(int worker) {
    if (atomic_fetch_add(&slot[worker].count, 1) < 0)
        explore_unpark(atomic_load(&slot[worker].thread));
}
