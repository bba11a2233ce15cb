/* A notification and a deadline may end the same wait. One of them does. */
#include "../scheduler.h"

static struct worker *w;
static struct fiber *waiter;
static explore_mutex lock;
static int waits, ended;
static bool open;

static void wait(struct fiber *self, void *arg) {
    (void)arg;
    explore_lock(&lock);
    waiter = self;
    while (!open) {
        waits++;

        bool notified = fiber_wait(self, &lock, 5);

        if (!notified) {
            explore_check(worker_now(w) == 5, "a deadline ends a wait when the clock shows it");
            while (!open)
                explore_check(fiber_wait(self, &lock, 0), "a wait without ticks has no deadline");
            explore_check(worker_now(w) == 5, "the clock stands still while no deadline comes");
            break;
        }
        explore_check(open, "fiber_wait returns true after a notification alone");
    }
    explore_unlock(&lock);
    ended++;
}

static void look(struct fiber *self, void *arg) {
    (void)self;
    (void)arg;
    explore_lock(&lock);
    if (waits && !open)
        explore_check(fiber_state(waiter) == WAITING, "a fiber with a deadline is Waiting");
    explore_unlock(&lock);
}

static void other(void *arg) {
    (void)arg;
    explore_lock(&lock);
    open = true;
    if (waiter) {
        fiber_notify(waiter);
        explore_check(fiber_state(waiter) != WAITING,
                      "a fiber that was notified is Waiting no more");
    }
    explore_unlock(&lock);
}

void explore_test(void) {
    w = worker_new();
    worker_enqueue(w, wait, NULL);
    worker_enqueue(w, look, NULL);

    int thread = explore_start(other, NULL);

    worker_stop(w);
    explore_check(ended == 1, "worker_stop returns when all tasks have returned");
    explore_join(thread);
    worker_free(w);
}
