/* Guests come and leave while the engine sleeps, or is about to. Or the only one waits until it
 * sleeps, and leaves. */
#include "kernel.h"

static struct task task;
static bool ran;

static void run(struct task *t) {
    (void)t;
    explore_check(explore_self() == 0, "engine_run calls the tasks");
    explore_take(0);
    ran = true;
}

/* Brings another guest, and both leave. */
static void idler(void *unused) {
    (void)unused;
    engine_arrive();
    engine_leave();
    engine_leave();
}

static void only(void *unused) {
    (void)unused;
    await_sleep();
    engine_leave();
}

static void guest(void *unused) {
    (void)unused;
    task.run = run;
    explore_put(0);
    engine_post(&task);
    engine_leave();
}

void explore_test(void) {
    kernel_may(&own.may.guests, 1);
    engine_arrive();
    if (explore_choose(2) == 1) {
        int other = explore_start(only, NULL);
        engine_run();
        explore_join(other);
        return;
    }
    engine_arrive();
    int others[] = {explore_start(idler, NULL), explore_start(guest, NULL)};
    engine_run();
    explore_check(ran, "engine_run does not return before the last guest has left");
    explore_join(others[0]);
    explore_join(others[1]);
}
