/* The notification comes from a third thread, perhaps after worker_stop was called. */
#include "../scheduler.h"

static struct worker *w;
static struct fiber *waiter;
static explore_mutex lock;
static bool open, passed;

static void wait(struct fiber *self, void *arg) {
    (void)arg;
    explore_lock(&lock);
    waiter = self;
    while (!open)
        fiber_wait(self, &lock, 0);
    explore_unlock(&lock);
    passed = true;
}

static void other(void *arg) {
    (void)arg;
    explore_lock(&lock);
    open = true;
    if (waiter)
        fiber_notify(waiter);
    explore_unlock(&lock);
}

void explore_test(void) {
    w = worker_new();
    worker_enqueue(w, wait, NULL);
    worker_start(w);

    int thread = explore_start(other, NULL);

    worker_stop(w);
    explore_check(passed, "worker_stop returns when all tasks have returned");
    explore_join(thread);
    worker_free(w);
}
