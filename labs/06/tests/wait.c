/* A fiber waits, and another task, or the thread that runs the worker, notifies it. */
#include "../scheduler.h"

static struct worker *w;
static struct fiber *waiter, *second;
static explore_mutex lock;
static int open, passed;

static void wait(struct fiber *self, void *arg) {
    struct fiber **me = arg;
    int goal = passed + 1;

    *me = self;
    explore_lock(&lock);
    while (open < goal)
        explore_check(fiber_wait(self, &lock, 0),
                      "without a deadline, only a notification ends a wait");
    explore_check(!explore_trylock(&lock), "fiber_wait returns with the lock held");
    explore_unlock(&lock);
    explore_check(fiber_state(self) == RUNNING, "a fiber that goes on is Running");
    passed++;
}

static void notify(struct fiber *self, void *arg) {
    (void)arg;
    explore_check(fiber_state(waiter) == YIELDED,
                  "a fiber that waits without a deadline is Yielded");
    explore_check(explore_trylock(&lock), "the lock is unlocked during the wait");
    open = 1;
    explore_unlock(&lock);
    fiber_notify(waiter);
    explore_check(fiber_state(waiter) == QUEUED, "a fiber that was notified is Queued");
    fiber_notify(waiter);
    fiber_notify(self);
    explore_check(fiber_state(self) == RUNNING, "a notification does nothing to a fiber that runs");
    explore_check(passed == 0, "the fiber that notifies goes on");
}

void explore_test(void) {
    w = worker_new();
    worker_enqueue(w, wait, &waiter);
    worker_enqueue(w, notify, NULL);
    worker_run(w);
    explore_check(passed == 1, "a fiber that was notified goes on");
    fiber_notify(waiter);
    explore_check(fiber_state(waiter) == IDLE, "a notification does nothing to an idle fiber");

    worker_enqueue(w, wait, &second);
    worker_run(w);
    explore_check(fiber_state(second) == YIELDED, "worker_run returns while a fiber is blocked");
    open = 2;
    fiber_notify(second);
    explore_check(passed == 1, "a notification does not run the fiber");
    worker_run(w);
    explore_check(passed == 2, "the next worker_run runs the fiber that was notified");
    worker_stop(w);
    worker_free(w);
}
