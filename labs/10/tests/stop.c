/* The stop rule: tasks run, tasks and requests begin others, then engine_run returns. It can be
 * called again. */
#include "kernel.h"

static char buffer[2];
static int file, result, runs;
static struct task tasks[3];

static void third(struct task *task) {
    explore_check(task == &tasks[2], "a task is called with itself");
    explore_take(2);
}

static void over(void *arg, int n) {
    note(arg, n);
    tasks[2].run = third;
    explore_put(2);
    engine_post(&tasks[2]);
}

static void second(struct task *task) {
    (void)task;
    explore_take(1);
    explore_check(engine_begin(work_of(RING_READ, file, buffer, 2, over, &result)) != 0,
                  "a task may begin a request");
}

static void start(struct task *task) {
    (void)task;
    explore_take(0);
    runs++;
    tasks[1].run = second;
    explore_put(1);
    engine_post(&tasks[1]);
}

void explore_test(void) {
    file = kernel_open("ab");
    may.late = 1;
    for (int round = 0; round < 2; round++) {
        result = UNDER_WAY;
        tasks[0].run = start;
        explore_put(0);
        engine_post(&tasks[0]);
        engine_run();
        explore_check(runs == round + 1, "a task runs once");
        explore_check(result == 2, "engine_run returns when no request is under way");
    }
}
