/* The word by which a worker waits and is woken: package internal/idle, restated.
 *
 * Two threads bring work and notify the worker. The worker says that it looks, looks once more,
 * commits itself and sleeps. Both parties change memory by an atomic read and write and load only
 * then, so one of them sees the other. In Go all of it is sequentially consistent.
 *
 * The planted faults: each macro of an order may be weakened. -DSTORE_LOOK and -DSTORE_BRING store
 * where the thread should exchange. -DNO_LOOK_AGAIN leaves the second look out, -DLOOK_FIRST looks
 * before the worker says so. -DCOMMIT_STORE and -DNOTIFY_STORE store where they should compare and
 * swap. -DNO_WAKE forgets to wake. */
#include <explore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { BUSY, LOOKING, WAKING, ASLEEP };

#ifndef LOOK /* the orders of: Look, the look for work, Commit, Notify and its load, the work */
#define LOOK memory_order_seq_cst
#endif
#ifndef SEE
#define SEE memory_order_seq_cst
#endif
#ifndef COMMIT
#define COMMIT memory_order_seq_cst
#endif
#ifndef NOTIFY
#define NOTIFY memory_order_seq_cst
#endif
#ifndef TEST
#define TEST memory_order_seq_cst
#endif
#ifndef BRING
#define BRING memory_order_seq_cst
#endif

static atomic_uint word, work;
static int worker;

static void look(void) {
#ifdef STORE_LOOK
    atomic_store_explicit(&word, LOOKING, memory_order_release);
#else
    atomic_exchange_explicit(&word, LOOKING, LOOK);
#endif
}

static bool commit(void) {
#ifdef COMMIT_STORE
    return atomic_exchange(&word, ASLEEP) <= ASLEEP;
#else
    unsigned expected = LOOKING;
    return atomic_compare_exchange_strong_explicit(&word, &expected, ASLEEP, COMMIT,
                                                   memory_order_relaxed);
#endif
}

static void notify(void) {
    for (;;) {
        unsigned old = atomic_load_explicit(&word, TEST);
        if (old == BUSY || old == WAKING) {
            return;
        }
        unsigned next = old == LOOKING ? BUSY : WAKING;
#ifdef NOTIFY_STORE
        atomic_store(&word, next);
#else
        if (!atomic_compare_exchange_strong_explicit(&word, &old, next, NOTIFY,
                                                     memory_order_relaxed)) {
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
#ifdef STORE_BRING
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
        bool found = atomic_load_explicit(&work, SEE) != 0;
        look();
#else
        look();
#ifdef NO_LOOK_AGAIN
        bool found = false;
#else
        bool found = atomic_load_explicit(&work, SEE) != 0;
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
        atomic_store_explicit(&word, BUSY, memory_order_relaxed);
        if (atomic_load_explicit(&work, memory_order_acquire) != 0) {
            break;
        }
    }
    explore_join(threads[0]);
    explore_join(threads[1]);
}
