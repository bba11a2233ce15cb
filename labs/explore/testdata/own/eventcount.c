/* The word by which a worker waits and is woken: package internal/idle, restated.
 *
 * Two threads bring work and notify the worker. The worker says that it looks, looks once more,
 * commits itself and sleeps. Both parties change memory by an atomic read and write and load only
 * then, so one of them sees the other.
 *
 * The planted faults, each a lost wake-up: -DWEAK_LOOK stores where Look exchanges. -DNO_LOOK_AGAIN
 * leaves the second look out, -DLOOK_FIRST looks before the worker says so. -DCOMMIT_STORE and
 * -DNOTIFY_STORE store where they should compare and swap. -DRELAXED_BRING and -DWEAK_BRING let the
 * load of Notify pass the store of the work. -DNO_WAKE forgets to wake. */
#include <explore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { BUSY, LOOKING, WAKING, ASLEEP };

#ifdef RELAXED_BRING
#define BRING memory_order_relaxed
#else
#define BRING memory_order_seq_cst
#endif

static atomic_uint word, work;
static int worker;

static void look(void) {
#ifdef WEAK_LOOK
    atomic_store_explicit(&word, LOOKING, memory_order_release);
#else
    atomic_exchange(&word, LOOKING);
#endif
}

static bool commit(void) {
#ifdef COMMIT_STORE
    return atomic_exchange(&word, ASLEEP) <= ASLEEP;
#else
    unsigned expected = LOOKING;
    return atomic_compare_exchange_strong(&word, &expected, ASLEEP);
#endif
}

static void notify(void) {
    for (;;) {
        unsigned old = atomic_load(&word);
        if (old == BUSY || old == WAKING) {
            return;
        }
        unsigned next = old == LOOKING ? BUSY : WAKING;
#ifdef NOTIFY_STORE
        atomic_store(&word, next);
#else
        if (!atomic_compare_exchange_strong(&word, &old, next)) {
            continue;
        }
#endif
#ifndef NO_WAKE
        if (next == WAKING) {
            explore_unpark(worker);
        }
#endif
        return;
    }
}

static void bring(void *unused) {
    (void)unused;
#ifdef WEAK_BRING
    atomic_store_explicit(&work, 1, memory_order_release);
#else
    atomic_fetch_add_explicit(&work, 1, BRING);
#endif
    notify();
}

void explore_test(void) {
    worker = explore_self();
    int threads[] = {explore_start(bring, NULL), explore_start(bring, NULL)};
    for (;;) {
#ifdef LOOK_FIRST
        bool found = atomic_load(&work) != 0;
        look();
#else
        look();
#ifdef NO_LOOK_AGAIN
        bool found = false;
#else
        bool found = atomic_load(&work) != 0;
#endif
#endif
        if (found) {
            break;
        }
        if (commit()) {
            while (atomic_load(&word) ==
                   ASLEEP) { /* as FUTEX_WAIT, which may return for no reason */
                explore_park();
            }
        }
        atomic_store(&word, BUSY);
        if (atomic_load(&work) != 0) {
            break;
        }
    }
    explore_join(threads[0]);
    explore_join(threads[1]);
}
