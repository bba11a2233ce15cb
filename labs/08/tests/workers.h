/* What the tests share: tasks, and how a worker sleeps. */
#include <explore.h>
#include <stddef.h>

#include "../stealing.h"

static struct task tasks[8];

/* Makes task i ready to be pushed. From now on the explorer expects that it is run once. */
static inline struct task *ready(int i) {
    tasks[i].number = i;
    explore_put(i);
    return &tasks[i];
}

/* Runs task, unless it is NULL. */
static inline void run(struct task *task) {
    if (task != NULL) {
        explore_take(task->number);
    }
}

#ifndef OWN_SLEEP
void worker_sleep(int self) {
    (void)self;
    explore_park();
}
#endif

void worker_wake(int worker) {
    explore_unpark(worker); /* each worker has the number of its thread */
}
