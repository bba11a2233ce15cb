/* A slot is one word: 0, or how many wakes are pending, or below 0 the thread that sleeps. */
#include "sleep.h"

static atomic_int slot[WORKERS];

void slot_wait(int worker) {
    int old = atomic_load_explicit(&slot[worker], memory_order_relaxed);

    for (;;) {
        int next = old > 0 ? old - 1 : -1 - explore_self();

        if (atomic_compare_exchange_weak_explicit(&slot[worker], &old, next, memory_order_acq_rel,
                                                  memory_order_relaxed))
            break;
    }
    if (old > 0)
        return;
    while (atomic_load_explicit(&slot[worker], memory_order_acquire) < 0)
        explore_park();
}

void slot_wake(int worker) {
    int old = atomic_load_explicit(&slot[worker], memory_order_relaxed);

    while (!atomic_compare_exchange_weak_explicit(&slot[worker], &old, old < 0 ? 0 : old + 1,
                                                  memory_order_acq_rel, memory_order_relaxed)) {
    }
    if (old < 0)
        explore_unpark(-1 - old);
}
