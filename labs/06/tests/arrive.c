/* Tasks come from another thread while the worker runs on the calling one. */
#include "../scheduler.h"

static struct worker *w;
static int ran[3];

static void task(struct fiber *self, void *arg) {
    int *mine = arg;

    if (mine == &ran[0])
        fiber_yield(self);
    ++*mine;
}

static void other(void *arg) {
    (void)arg;
    worker_enqueue(w, task, &ran[1]);
    worker_enqueue(w, task, &ran[2]);
}

void explore_test(void) {
    w = worker_new();
    worker_enqueue(w, task, &ran[0]);

    int thread = explore_start(other, NULL);

    worker_run(w);
    explore_check(ran[0] == 1, "worker_run runs a task that was queued before");
    explore_join(thread);
    worker_run(w);
    explore_check(ran[0] == 1 && ran[1] == 1 && ran[2] == 1, "each task runs once");
    worker_stop(w);
    worker_free(w);
}
