/* No fences: each access is sequentially consistent, as it is without an order. All of them, and
 * those by which tasks are stored and looked for, have one order. */
#include "sleep.h"

static atomic_uint spinning, sleeping;

static bool clear(atomic_uint *mask, int worker) {
    return atomic_fetch_and(mask, ~(1u << worker)) >> worker & 1;
}

static int claim(atomic_uint *mask) {
    for (int worker = 0; worker < WORKERS; worker++)
        if (atomic_load(mask) >> worker & 1 && clear(mask, worker))
            return worker;
    return -1;
}

void eventcount_prepare(int me) {
    atomic_fetch_or(&sleeping, 1u << me);
}

void eventcount_wait(int me) {
    slot_wait(me);
}

void eventcount_cancel(int me) {
    if (!clear(&sleeping, me)) {
        slot_wait(me);
        eventcount_notify();
    }
}

void eventcount_notify(void) {
    int worker;

    if (claim(&spinning) >= 0)
        return;
    worker = claim(&sleeping);
    if (worker >= 0)
        slot_wake(worker);
}

bool eventcount_spin(int me) {
    unsigned old = atomic_load(&spinning);

    while (__builtin_popcount(old) < SPINNERS)
        if (atomic_compare_exchange_strong(&spinning, &old, old | 1u << me))
            return true;
    return false;
}

void eventcount_stop(int me, bool found) {
    if (!clear(&spinning, me) && found)
        eventcount_notify();
}
