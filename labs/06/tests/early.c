/* A worker sleeps until the deadline of one fiber, which is notified. The other fiber's deadline is
 * later. */
#include "../scheduler.h"

static struct worker *w;
static struct fiber *first;
static explore_mutex lock;
static int ended;

static void wait(struct fiber *self, void *arg) {
    const unsigned *deadline = arg;

    explore_lock(&lock);
    if (*deadline == 1)
        first = self;

    bool notified = fiber_wait(self, &lock, *deadline);

    explore_unlock(&lock);
    explore_check(notified || worker_now(w) >= *deadline, "no deadline comes early");
    explore_check(!notified || *deadline == 1, "a notification ends the wait of its fiber");
    ended++;
}

static void other(void *arg) {
    (void)arg;
    fiber_notify(first);
}

void explore_test(void) {
    unsigned one = 1, two = 2;

    w = worker_new();
    worker_enqueue(w, wait, &one);
    worker_enqueue(w, wait, &two);
    worker_run(w);

    int thread = explore_start(other, NULL);

    worker_stop(w);
    explore_check(ended == 2, "worker_stop returns when all tasks have returned");
    explore_join(thread);
    worker_free(w);
}
