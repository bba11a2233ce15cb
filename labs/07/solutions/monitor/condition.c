/* Condition variables: sections 7.1 to 7.4.
 *
 * A bit says that a thread waits. Each access of it is relaxed, since the mutex orders all that
 * matters. A thread waits because it has seen under the mutex that something is false. So the one
 * that makes it true locks the mutex later. The bit is set before the unlock in condition_wait:
 * a signal after that lock finds it. */
#include "sleep.h"

static atomic_uint waiting[CONDITIONS]; /* a bit for each thread that waits and was not woken */

void condition_wait(int c, explore_mutex *mutex) {
    unsigned me = 1u << explore_self();

    atomic_fetch_or_explicit(&waiting[c], me, memory_order_relaxed);
    /* A signal between the unlock and the park is not lost: the thread has its token then, and the
     * park takes it. A park that ended for no reason finds the bit still set. */
    do {
        explore_unlock(mutex);
        explore_park();
        explore_lock(mutex);
    } while (atomic_load_explicit(&waiting[c], memory_order_relaxed) & me);
}

void condition_signal(int c) {
    unsigned threads = atomic_load_explicit(&waiting[c], memory_order_relaxed);

    while (threads) {
        int lowest = __builtin_ctz(threads);
        unsigned bit = 1u << lowest;

        /* Two signals may see the same lowest bit. The one that clears it wakes the thread. */
        threads = atomic_fetch_and_explicit(&waiting[c], ~bit, memory_order_relaxed);
        if (threads & bit) {
            explore_unpark(lowest);
            return;
        }
    }
}

void condition_broadcast(int c) {
    unsigned threads = atomic_exchange_explicit(&waiting[c], 0, memory_order_relaxed);

    for (int i = 0; threads >> i; i++)
        if (threads >> i & 1)
            explore_unpark(i);
}
