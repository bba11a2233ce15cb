/* Condition variables: sections 7.1 to 7.4.
 *
 * A bit says that a thread waits. It is set before the unlock in condition_wait. */
#include "sleep.h"

static atomic_uint waiting[CONDITIONS]; /* a bit for each thread that waits and was not woken */

void condition_wait(int c, explore_mutex *mutex) {
    unsigned me = 1u << explore_self();

    atomic_fetch_or(&waiting[c], me);
    /* A signal between the unlock and the park is not lost: the thread has its token then, and the
     * park takes it. A park that ended for no reason finds the bit still set. */
    do {
        explore_unlock(mutex);
        explore_park();
        explore_lock(mutex);
    } while (atomic_load(&waiting[c]) & me);
}

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
    unsigned threads = atomic_exchange(&waiting[c], 0);

    for (int i = 0; threads >> i; i++)
        if (threads >> i & 1)
            explore_unpark(i);
}
