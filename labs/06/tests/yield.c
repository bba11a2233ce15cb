/* A task that yields goes on, on its own stack, when the others have had their turn. */
#include "../scheduler.h"

enum { TASKS = 3, ROUNDS = 3 };

static struct worker *w;
static struct fiber *fiber[TASKS];
static int steps, late;

/* The fibers of tasks that have ended are used again, each by one task. */
static void again(struct fiber *self, void *arg) {
    struct fiber **mine = arg;

    *mine = self;
    fiber_yield(self);
    explore_check(*mine == self, "a task keeps its fiber");
}

static void after(struct fiber *self, void *arg) {
    (void)arg;
    for (int i = 0; i < TASKS; i++)
        explore_check(self != fiber[i], "a task gets a fiber without a task");
    explore_check(steps == TASKS,
                  "a task that is queued runs before the fibers that yield after it");
    late++;
}

static void task(struct fiber *self, void *arg) {
    const int *number = arg;
    int round = 0; /* lies on the stack of this fiber */

    fiber[*number] = self;
    if (*number == 0)
        worker_enqueue(w, after, NULL);
    while (round < ROUNDS) {
        explore_check(steps == round * TASKS + *number,
                      "a fiber that yields goes on after the others");
        steps++;
        for (int i = 0; i < *number; i++)
            explore_check(fiber_state(fiber[i]) == QUEUED, "a fiber that has yielded is Queued");
        fiber_yield(self);
        explore_check(fiber_state(self) == RUNNING, "a fiber that goes on is Running");
        round++;
    }
    explore_check(late == 1, "a fiber that yields lets tasks begin");
}

void explore_test(void) {
    int number[TASKS];

    w = worker_new();
    for (int i = 0; i < TASKS; i++) {
        number[i] = i;
        worker_enqueue(w, task, &number[i]);
    }
    worker_run(w);
    explore_check(steps == TASKS * ROUNDS, "worker_run returns when all tasks have returned");
    for (int i = 0; i < TASKS; i++)
        explore_check(fiber_state(fiber[i]) == IDLE, "a fiber whose task has returned is Idle");

    struct fiber *used[TASKS + 1];

    for (int i = 0; i <= TASKS; i++)
        worker_enqueue(w, again, &used[i]);
    worker_run(w);
    for (int i = 0; i < TASKS; i++) {
        bool found = false;

        for (int j = 0; j <= TASKS; j++)
            found = found || used[j] == fiber[i];
        explore_check(found, "each idle fiber is used before one is made");
    }
    worker_stop(w);
    worker_free(w);
}
