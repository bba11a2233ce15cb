/* Another thread notifies. The worker runs on the calling thread, and sleeps while the fiber is
 * blocked. */
#include "../scheduler.h"

static struct worker *w;
static struct fiber *waiter;
static explore_mutex lock;
static bool open, passed;

static void wait(struct fiber *self, void *arg) {
    (void)arg;
    explore_lock(&lock);
    waiter = self;
    explore_unlock(&lock);
    fiber_yield(self); /* a notification may come now, too */
    explore_lock(&lock);
    while (!open)
        fiber_wait(self, &lock, 0);
    explore_unlock(&lock);
    passed = true;
}

static void other(void *arg) {
    (void)arg;
    explore_lock(&lock);
    open = true;

    struct fiber *f = waiter;

    explore_unlock(&lock);
    if (f)
        fiber_notify(f);
}

void explore_test(void) {
    w = worker_new();
    worker_enqueue(w, wait, NULL);

    int thread = explore_start(other, NULL);

    worker_stop(w);
    explore_check(passed, "worker_stop returns when all tasks have returned");
    explore_join(thread);
    worker_free(w);
}
