/* No atomic variable at all: a mutex for the injection queue, and one for the list of sleepers. The
 * worker that went to sleep last is woken first. */
#include <explore.h>
#include <stddef.h>

#include "stealing.h"

static explore_mutex queue_mutex, sleepers_mutex;
static struct task *first, *last;
static int sleepers[WORKERS], count;

static void wake(void) {
    explore_lock(&sleepers_mutex);
    int worker = count > 0 ? sleepers[--count] : -1;
    explore_unlock(&sleepers_mutex);
    if (worker >= 0) {
        worker_wake(worker);
    }
}

static void lie_down(int self) {
    explore_lock(&sleepers_mutex);
    sleepers[count++] = self;
    explore_unlock(&sleepers_mutex);
}

/* Takes self off the list. Returns false if it was not there: somebody has woken it. */
static bool get_up(int self) {
    bool found = false;

    explore_lock(&sleepers_mutex);
    for (int i = 0; i < count; i++) {
        if (sleepers[i] == self) {
            sleepers[i] = sleepers[--count];
            found = true;
            break;
        }
    }
    explore_unlock(&sleepers_mutex);
    return found;
}

void pool_submit(int self, struct task *task) {
    if (self == OUTSIDE || !deque_push(self, task)) {
        task->next = NULL;
        explore_lock(&queue_mutex);
        if (first == NULL) {
            first = task;
        } else {
            last->next = task;
        }
        last = task;
        explore_unlock(&queue_mutex);
    }
    wake();
}

struct task *pool_find(int self) {
    struct task *task = deque_take(self);

    if (task == NULL) {
        explore_lock(&queue_mutex);
        task = first;
        if (task != NULL) {
            first = task->next;
        }
        explore_unlock(&queue_mutex);
    }
    for (int victim = 0; victim < WORKERS; victim++) {
        if (task == NULL && victim != self) {
            task = deque_steal(victim);
        }
    }
    return task;
}

struct task *pool_next(int self) {
    struct task *task = pool_find(self);

    while (task == NULL) {
        lie_down(self);
        task = pool_find(self);
        if (task == NULL) {
            worker_sleep(self);
            get_up(self);
            task = pool_find(self);
        } else if (!get_up(self)) {
            wake();
        }
    }
    return task;
}
