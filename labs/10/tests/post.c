/* A guest posts two tasks. The engine sleeps, or is about to, or waits for a request. */
#include "kernel.h"

static struct task tasks[2];
static ticket waiting;
static int result = UNDER_WAY;

static void run(struct task *task) {
    explore_take((unsigned long)(task - tasks));
    if (task == &tasks[1]) {
        engine_cancel(waiting);
    }
}

static void guest(void *unused) {
    (void)unused;
    for (int i = 0; i < 2; i++) {
        tasks[i].run = run;
        explore_put((unsigned long)i);
        engine_post(&tasks[i]);
    }
    engine_leave();
}

void explore_test(void) {
    char buffer[2];

    waiting = engine_begin(work_of(RING_RECEIVE, kernel_connect(""), buffer, 2, note, &result));
    engine_arrive();
    int other = explore_start(guest, NULL);
    engine_run();
    explore_check(result == -ECANCELED, "a task from another thread runs while the engine waits");
    explore_join(other);
}
