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
    atomic_store_explicit(&slot[worker].thread, explore_self(), memory_order_relaxed);
    /* Release: the waker that finds -1 finds the thread. Acquire: after a wake that came first,
     * what the waker has done before is there. */
    if (atomic_fetch_sub_explicit(&slot[worker].count, 1, memory_order_acq_rel) > 0)
        return;
    /* Acquire, as above: a park that ended for no reason orders nothing, and the count may be what
     * ends the wait. */
    while (atomic_load_explicit(&slot[worker].count, memory_order_acquire) < 0)
        explore_park();
}

void slot_wake(int worker) {
    /* Release: what the caller has done before. Acquire: the number of the thread. */
    if (atomic_fetch_add_explicit(&slot[worker].count, 1, memory_order_acq_rel) < 0)
        explore_unpark(atomic_load_explicit(&slot[worker].thread, memory_order_relaxed));
}
