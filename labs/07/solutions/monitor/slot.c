/* A count of wakes under a mutex, and a condition to wait for one. */
#include "sleep.h"

enum { WAKE = 1 }; /* the condition, which all slots share */

static explore_mutex mutex;
static int wakes[WORKERS];

void slot_wait(int worker) {
    explore_lock(&mutex);
    while (wakes[worker] == 0)
        condition_wait(WAKE, &mutex);
    wakes[worker]--;
    explore_unlock(&mutex);
}

void slot_wake(int worker) {
    explore_lock(&mutex);
    wakes[worker]++;
    condition_broadcast(WAKE);
    explore_unlock(&mutex);
}
