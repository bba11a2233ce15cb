/* Condition variables: sections 7.1 to 7.4. condition_wait is a first version, which loses a
 * wake-up. */
#include "sleep.h"

static atomic_uint waiting[CONDITIONS]; /* a bit for each thread that waits and was not woken */

void condition_wait(int c, explore_mutex *mutex) {
    unsigned me = 1u << explore_self();

    explore_unlock(mutex);
    atomic_fetch_or(&waiting[c], me);
    /* A park may end for no reason. Then the bit is still set. */
    do {
        explore_park();
    } while (atomic_load(&waiting[c]) & me);
    explore_lock(mutex);
}

/* This is right, and stays as it is. */
void condition_signal(int c) {
    unsigned threads = atomic_load(&waiting[c]);

    while (threads) {
        int lowest = __builtin_ctz(threads);
        unsigned bit = 1u << lowest;

        /* Two signals may see the same lowest bit. The one that clears it wakes the thread. */
        threads = atomic_fetch_and(&waiting[c], ~bit);
        if (threads & bit) {
            explore_unpark(lowest);
            return;
        }
    }
}

void condition_broadcast(int c) {
    (void)c;
    explore_check(false, "condition_broadcast is written (section 7.4)");
}
