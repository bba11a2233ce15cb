/* A worker that sleeps, and a task that comes. Section 6.1: one schedule fails. */
#include <stdbool.h>
#include <stddef.h>

#include <explore.h>

static explore_mutex mutex;
static int queued; /* tasks */
static bool asleep;

static void enqueue(void *arg) {
    (void)arg;
    explore_lock(&mutex);
    queued++;
    if (asleep)
        explore_unpark(0);
    explore_unlock(&mutex);
}

static bool idle(void) {
    explore_lock(&mutex);

    bool none = queued == 0;

    explore_unlock(&mutex);
    return none;
}

static void doze(void) {
    explore_lock(&mutex);
    asleep = true;
    explore_unlock(&mutex);
    explore_park();
}

/* Thread 0 is the worker. */
void explore_test(void) {
    int other = explore_start(enqueue, NULL);

    while (idle())
        doze();
    explore_join(other);
}
