/* A ticket lock: each thread draws a number, and waits until it is served.
 *
 * From D. P. Reed and R. K. Kanodia, "Synchronization with Eventcounts and Sequencers",
 * Communications of the ACM 22 (1979); the lock is in J. M. Mellor-Crummey and M. L. Scott, ACM
 * Transactions on Computer Systems 9 (1991), section 2.2. With -DTORN_DRAW two threads draw the
 * same number. With -DRELAXED_UNLOCK and -DRELAXED_LOCK a thread may miss what the one before it
 * has done. */
#include <explore.h>
#include <stdatomic.h>
#include <stddef.h>

#ifdef RELAXED_UNLOCK
#define UNLOCK memory_order_relaxed
#else
#define UNLOCK memory_order_release
#endif
#ifdef RELAXED_LOCK
#define LOCK memory_order_relaxed
#else
#define LOCK memory_order_acquire
#endif

static atomic_uint drawn, served;
static int counter;

static void lock(void) {
#ifdef TORN_DRAW
    unsigned mine = atomic_load_explicit(&drawn, memory_order_relaxed);
    atomic_store_explicit(&drawn, mine + 1, memory_order_relaxed);
#else
    unsigned mine = atomic_fetch_add_explicit(&drawn, 1, memory_order_relaxed);
#endif
    while (atomic_load_explicit(&served, LOCK) != mine) {
        explore_yield();
    }
}

static void unlock(void) {
    unsigned now = atomic_load_explicit(&served, memory_order_relaxed);

    atomic_store_explicit(&served, now + 1, UNLOCK);
}

static void worker(void *unused) {
    (void)unused;
    lock();
    counter++;
    unlock();
}

void explore_test(void) {
    int a = explore_start(worker, NULL), b = explore_start(worker, NULL);

    explore_join(a);
    explore_join(b);
    explore_check(counter == 2, "both have counted");
}
