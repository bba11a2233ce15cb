/* A monitor: a submitter queues a task and picks a sleeper under one lock, and a worker looks and
 * lies down under the same lock. So nothing can come between, and no second look is needed. */
#include <explore.h>
#include <stddef.h>

#include "stealing.h"

static explore_mutex monitor; /* before the locks of the deques */
static struct task *oldest, *newest;
static bool asleep[WORKERS];

static struct task *find(int self) {
    struct task *task = deque_take(self);

    if (task == NULL && oldest != NULL) {
        task = oldest;
        oldest = task->next;
    }
    for (int victim = WORKERS - 1; task == NULL && victim >= 0; victim--) {
        task = deque_steal(victim);
    }
    return task;
}

void pool_submit(int self, struct task *task) {
    int worker = 0;

    explore_lock(&monitor);
    if (self == OUTSIDE || !deque_push(self, task)) {
        task->next = NULL;
        *(oldest == NULL ? &oldest : &newest->next) = task;
        newest = task;
    }
    while (worker < WORKERS && !asleep[worker]) {
        worker++;
    }
    if (worker < WORKERS) {
        asleep[worker] = false;
        worker_wake(worker);
    }
    explore_unlock(&monitor);
}

struct task *pool_find(int self) {
    explore_lock(&monitor);
    struct task *task = find(self);
    explore_unlock(&monitor);
    return task;
}

struct task *pool_next(int self) {
    explore_lock(&monitor);
    struct task *task = find(self);
    while (task == NULL) {
        asleep[self] = true;
        explore_unlock(&monitor);
        worker_sleep(self);
        explore_lock(&monitor);
        asleep[self] = false; /* it may have woken for no reason */
        task = find(self);
    }
    explore_unlock(&monitor);
    return task;
}
