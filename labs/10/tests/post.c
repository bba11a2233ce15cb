/* A guest posts a task and waits until it has run. The engine sleeps, or is about to, or waits for
 * a request that only the task ends. */
#include "kernel.h"

static struct task task;
static ticket waiting;
static int result = UNDER_WAY, poster;
static atomic_bool ran;

static void run(struct task *t) {
    (void)t;
    explore_check(explore_self() == 0, "engine_run calls the tasks");
    explore_take(0);
    engine_cancel(waiting);
    atomic_store(&ran, true);
    explore_unpark(poster);
}

static void guest(void *unused) {
    (void)unused;
    task.run = run;
    poster = explore_self();
    explore_put(0);
    if (explore_choose(2) == 1) {
        await_sleep();
    }
    engine_post(&task);
    while (!atomic_load(&ran)) {
        explore_park();
    }
    engine_leave();
}

void explore_test(void) {
    char buffer[2];

    kernel_may(&own.may.guests, 1);
    waiting = engine_begin(work_of(RING_RECEIVE, kernel_connect(""), buffer, 2, note, &result));
    engine_arrive();
    int other = explore_start(guest, NULL);
    engine_run();
    explore_check(result == -ECANCELED, "engine_post has a task run while the engine waits");
    explore_join(other);
}
