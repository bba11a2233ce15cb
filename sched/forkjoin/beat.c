/* The thread that beats. It is no thread of Go's: a timer of the Go runtime comes up to 10 ms late
 * while all processors run Go code. */
#define _GNU_SOURCE
#include "beat.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* After so many periods without a busy pool the thread sleeps. Until then, to become busy costs
 * no system call. */
#define QUIET_PERIODS 10

struct fiberlab_beat fiberlab_beat;

static int64_t now(void) {
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Blocks while changes is seen, until due, or for ever if due is 0. Returns 1 when it is due.
 * It may also return 0 for no reason. */
static int wait_for_change(uint32_t seen, int64_t due) {
    struct timespec t = {.tv_sec = due / 1000000000, .tv_nsec = due % 1000000000};

    return syscall(SYS_futex, &fiberlab_beat.changes, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, seen,
                   due ? &t : NULL, NULL, FUTEX_BITSET_MATCH_ANY) != 0 &&
           errno == ETIMEDOUT;
}

/* Waits until a pool may be busy. The order prevents lost wake-ups: the thread says that it
 * sleeps, and then looks whether a pool is busy. A strand says that its pool is busy, and then
 * looks whether the thread sleeps. An exchange keeps that order in emulators, too, where a store
 * does not: see pop in deque.go. */
static void sleep_until_busy(uint32_t seen) {
    (void)__atomic_exchange_n(&fiberlab_beat.asleep, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&fiberlab_beat.busy, __ATOMIC_SEQ_CST) == 0)
        wait_for_change(seen, 0);
    __atomic_store_n(&fiberlab_beat.asleep, 0, __ATOMIC_SEQ_CST);
}

static void *beat(void *unused) {
    int64_t last = now(); /* when the last period ended */
    int quiet = 0;

    (void)unused;
    prctl(PR_SET_TIMERSLACK, 1UL); /* in nanoseconds; usually the kernel may add 50,000 */
    for (;;) {
        uint32_t seen = __atomic_load_n(&fiberlab_beat.changes, __ATOMIC_SEQ_CST);
        int64_t period = __atomic_load_n(&fiberlab_beat.period, __ATOMIC_SEQ_CST);

        if (period == 0)
            return NULL;
        if (quiet == QUIET_PERIODS) {
            sleep_until_busy(seen);
            quiet = 0;
            last = now();
            continue;
        }
        if (!wait_for_change(seen, period < INT64_MAX - last ? last + period : INT64_MAX))
            continue;
        if (__atomic_load_n(&fiberlab_beat.busy, __ATOMIC_SEQ_CST) > 0) {
            quiet = 0;
            __atomic_fetch_add(&fiberlab_beat.beats, 1, __ATOMIC_SEQ_CST);
        } else {
            quiet++;
        }
        /* A whole number of periods, so that delays do not add up. Missed ones are left out. */
        last += (now() - last) / period * period;
    }
}

/* Signals are for Go's threads. A new thread has the mask of its maker. */
static int start(pthread_t *thread) {
    sigset_t all, before;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(thread, NULL, beat, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0)
        pthread_setname_np(*thread, "fiberlab-beat");
    return error;
}

int fiberlab_beat_set(int64_t period) {
    static pthread_t thread;
    static int64_t current;
    int error = 0;

    __atomic_store_n(&fiberlab_beat.period, period, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&fiberlab_beat.changes, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &fiberlab_beat.changes, FUTEX_WAKE_PRIVATE, 1);
    if (current == 0 && period != 0)
        error = start(&thread);
    else if (current != 0 && period == 0)
        pthread_join(thread, NULL);
    current = error ? 0 : period;
    return error;
}
