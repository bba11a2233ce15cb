#include "futexwake.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct wakes {
    uint64_t quiet;
    size_t n;
    uint64_t *nanoseconds;
    atomic_uint called;   /* how many wakes the waker has called for */
    atomic_uint answered; /* how many the sleeper has answered */
};

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Sleeps until *word is no longer value. */
static void sleep_on(atomic_uint *word, unsigned value) {
    while (atomic_load(word) == value) {
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
    }
}

/* Counts *word up and wakes the thread that sleeps on it. */
static void wake(atomic_uint *word) {
    atomic_fetch_add(word, 1);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *sleeper(void *argument) {
    struct wakes *w = argument;
    for (size_t i = 0; i < w->n; i++) {
        sleep_on(&w->called, (unsigned)i);
        w->nanoseconds[i] = now() - w->nanoseconds[i];
        wake(&w->answered);
    }
    return NULL;
}

static void *waker(void *argument) {
    struct wakes *w = argument;
    struct timespec quiet = {(time_t)(w->quiet / 1000000000), (long)(w->quiet % 1000000000)};
    for (size_t i = 0; i < w->n; i++) {
        nanosleep(&quiet, NULL);
        w->nanoseconds[i] = now();
        wake(&w->called);
        sleep_on(&w->answered, (unsigned)i);
    }
    return NULL;
}

int futexwake_measure(uint64_t quiet, size_t n, uint64_t *nanoseconds) {
    struct wakes w = {.quiet = quiet, .n = n, .nanoseconds = nanoseconds};
    pthread_t slept, woke;
    int error = pthread_create(&slept, NULL, sleeper, &w);
    if (error != 0) {
        return error;
    }
    error = pthread_create(&woke, NULL, waker, &w);
    if (error != 0) {
        atomic_store(&w.called, (unsigned)n); /* no wait of the sleeper's is for that many */
        wake(&w.called);
    } else {
        pthread_join(woke, NULL);
    }
    pthread_join(slept, NULL);
    return error;
}
