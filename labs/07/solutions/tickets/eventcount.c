/* Which workers are idle: sections 7.6 and 7.7. Two masks have a bit for each worker. It is set by
 * the worker. The thread that clears it has claimed the worker.
 *
 * Why no wake-up is lost. Each party stores, passes a fence, and then looks:
 *
 *     thread that brings a task         worker
 *     1 store the task                  1 set the bit in sleeping    (eventcount_prepare)
 *     2 fence                           2 fence
 *     3 look for a bit                  3 look for a task
 *
 * Fences that are seq_cst have one order. If the worker's comes first, the thread sees the bit, or
 * that another one has claimed the worker. If the thread's comes first, the worker sees the task.
 * With less, the processor may keep both stores back while both look.
 *
 * The fences order all that matters, so each access of a mask is relaxed. But each change is one
 * atomic step: two threads must not claim one worker, nor three workers spin. */
#include "sleep.h"

static atomic_uint spinning; /* workers that spin and are not claimed */
static atomic_uint sleeping; /* workers that sleep, or are about to, and are not claimed */

/* Clears a bit. Reports whether it was set: false if the worker is claimed. */
static bool clear(atomic_uint *mask, int worker) {
    unsigned bit = 1u << worker;

    return atomic_fetch_and_explicit(mask, ~bit, memory_order_relaxed) & bit;
}

/* Claims the worker with the lowest number in the mask. Returns -1 if there is none. */
static int claim(atomic_uint *mask) {
    unsigned workers;

    while ((workers = atomic_load_explicit(mask, memory_order_relaxed)) != 0)
        if (clear(mask, __builtin_ctz(workers)))
            return __builtin_ctz(workers);
    return -1;
}

void eventcount_prepare(int me) {
    atomic_fetch_or_explicit(&sleeping, 1u << me, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
}

void eventcount_wait(int me) {
    slot_wait(me); /* the slot keeps a wake that has come since eventcount_prepare */
}

void eventcount_cancel(int me) {
    if (clear(&sleeping, me))
        return;
    slot_wait(me);       /* takes the wake, which would end the next wait */
    eventcount_notify(); /* what it was for may be another task than the one that was found */
}

void eventcount_notify(void) {
    atomic_thread_fence(memory_order_seq_cst);
    if (claim(&spinning) >= 0)
        return; /* that worker has a look ahead of it */

    int worker = claim(&sleeping);

    if (worker >= 0)
        slot_wake(worker);
}

bool eventcount_spin(int me) {
    unsigned workers = atomic_load_explicit(&spinning, memory_order_relaxed);

    /* A look and a later store would let a third worker spin. */
    while (__builtin_popcount(workers) < SPINNERS)
        if (atomic_compare_exchange_weak_explicit(&spinning, &workers, workers | 1u << me,
                                                  memory_order_relaxed, memory_order_relaxed))
            return true;
    return false;
}

void eventcount_stop(int me, bool found) {
    if (!clear(&spinning, me) && found)
        eventcount_notify();
}
