/* Both masks in one word: bits 0 to 7 for the workers that spin, 8 to 15 for those that sleep. A
 * notification changes it by one compare-exchange. */
#include "sleep.h"

enum { SLEEPING = 8 };

static atomic_uint idle;

/* Clears the bit. Reports whether it was set. */
static bool clear(int bit) {
    return atomic_fetch_and_explicit(&idle, ~(1u << bit), memory_order_acq_rel) >> bit & 1;
}

void eventcount_prepare(int me) {
    atomic_fetch_or_explicit(&idle, 1u << (SLEEPING + me), memory_order_acq_rel);
    atomic_thread_fence(memory_order_seq_cst);
}

void eventcount_wait(int me) {
    slot_wait(me);
}

void eventcount_cancel(int me) {
    if (!clear(SLEEPING + me)) {
        slot_wait(me);
        eventcount_notify();
    }
}

void eventcount_notify(void) {
    unsigned old;

    atomic_thread_fence(memory_order_seq_cst);
    old = atomic_load_explicit(&idle, memory_order_relaxed);
    while (old && !atomic_compare_exchange_weak_explicit(
                      &idle, &old, old & (old - 1), memory_order_acq_rel, memory_order_relaxed)) {
    }
    if (old >> SLEEPING << SLEEPING == old && old)
        slot_wake(__builtin_ctz(old) - SLEEPING);
}

bool eventcount_spin(int me) {
    unsigned old = atomic_load_explicit(&idle, memory_order_relaxed);

    do {
        if (__builtin_popcount(old & 0xff) == SPINNERS)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&idle, &old, old | 1u << me,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

void eventcount_stop(int me, bool found) {
    bool claimed = !clear(me);

    if (claimed && found)
        eventcount_notify();
}
