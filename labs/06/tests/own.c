/* A worker with a thread of its own sleeps, and wakes for each task. */
#include "../scheduler.h"

static struct worker *w;
static int ran;

static void task(struct fiber *self, void *arg) {
    (void)arg;
    explore_check(explore_self() == 1,
                  "the tasks of a worker run on the thread that worker_start has started");
    fiber_yield(self);
    ran++;
}

static void other(void *arg) {
    (void)arg;
    worker_enqueue(w, task, NULL);
}

void explore_test(void) {
    w = worker_new();
    worker_start(w);

    int thread = explore_start(other, NULL);

    worker_enqueue(w, task, NULL);
    explore_join(thread);
    worker_stop(w);
    explore_check(ran == 2, "worker_stop returns when all tasks have returned");
    worker_free(w);
}
