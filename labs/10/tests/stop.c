/* The stop rule: tasks run in their order, tasks and requests begin others, then engine_run
 * returns. It can be called again, and a task can be posted again. */
#include "kernel.h"

static char buffer[2];
static int file, result, runs;
static struct task tasks[4];

static void post_it(int i, void (*run)(struct task *)) {
    tasks[i].run = run;
    explore_put((unsigned long)i);
    engine_post(&tasks[i]);
}

static void last(struct task *task) {
    explore_check(task == &tasks[2] || task == &tasks[3], "a task is called with itself");
    explore_take((unsigned long)(task - tasks));
}

static void over(void *arg, int n) {
    note(arg, n);
    post_it(2, last);
}

static void begin(struct task *task) {
    explore_take((unsigned long)(task - tasks));
    runs++;
    explore_check(engine_begin(work_of(RING_READ, file, buffer, 2, over, &result)) != 0,
                  "a task may begin a request");
}

static void first(struct task *task) {
    explore_check(runs % 2 == 0, "engine_post keeps the order of tasks");
    explore_take((unsigned long)(task - tasks));
    runs++;
    if (runs == 1) { /* in the second round, the last task that is posted was not the last before */
        post_it(3, last);
    }
}

void explore_test(void) {
    file = kernel_open("ab");
    kernel_may(&own.may.late, 1);
    for (int round = 0; round < 2; round++) {
        result = UNDER_WAY;
        post_it(round, first); /* tasks 0 and 1, then 1 and 0 */
        post_it(1 - round, begin);
        engine_run();
        explore_check(runs == 2 * round + 2, "a task that was posted by engine_post runs once");
        explore_check(result == 2, "engine_run returns when no request is under way");
    }
    kernel_moved(4);
}
