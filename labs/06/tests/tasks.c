/* Tasks run in the order in which they were queued, each on a fiber, on the calling thread. */
#include "../scheduler.h"

static struct worker *w;
static struct fiber *of_first;
static int ended;

static void last(struct fiber *self, void *arg) {
    explore_check(ended == 3,
                  "a task that a task has queued runs after those that were queued before");
    explore_check(arg == &ended, "a task gets the argument that it was queued with");
    explore_check(self == of_first, "a task runs on an idle fiber, if there is one");
    ended++;
}

static void first(struct fiber *self, void *arg) {
    explore_check(ended == 0 && arg == NULL, "the task that was queued first runs first");
    explore_check(fiber_state(self) == RUNNING, "the fiber of a task that runs is Running");
    of_first = self;
    worker_enqueue(w, last, &ended);
    ended++;
}

static void next(struct fiber *self, void *arg) {
    int *number = arg;

    explore_check(ended == *number, "tasks run in the order in which they were queued");
    explore_check(self == of_first, "no fiber is made while one is idle");
    ended++;
}

void explore_test(void) {
    int one = 1, two = 2;

    w = worker_new();
    worker_enqueue(w, first, NULL);
    worker_enqueue(w, next, &one);
    worker_enqueue(w, next, &two);
    explore_check(ended == 0, "no task runs before the worker does");
    worker_run(w);
    explore_check(ended == 4, "worker_run runs all tasks, also those that tasks have queued");
    explore_check(fiber_state(of_first) == IDLE, "a fiber whose task has returned is Idle");
    worker_run(w);
    explore_check(ended == 4, "each task runs once");
    worker_stop(w);
    worker_free(w);
}
