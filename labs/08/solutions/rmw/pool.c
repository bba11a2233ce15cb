/* The number of sleepers, and a flag for each. A submitter that finds none does not look at the
 * flags. Thieves begin where they have stolen last. */
#include <explore.h>
#include <stdatomic.h>
#include <stddef.h>

#include "stealing.h"

static explore_mutex mutex;
static struct task *first, **end = &first;
static atomic_int sleepers;
static atomic_bool sleeping[WORKERS];
static int victims[WORKERS]; /* each worker's own */

static bool get_up(int worker) {
    bool was = true;

    if (!atomic_compare_exchange_strong(&sleeping[worker], &was, false)) {
        return false;
    }
    atomic_fetch_sub(&sleepers, 1);
    return true;
}

static void wake(void) {
    if (atomic_fetch_add(&sleepers, 0) == 0) {
        return;
    }
    for (int worker = 0; worker < WORKERS; worker++) {
        if (get_up(worker)) {
            worker_wake(worker);
            return;
        }
    }
}

void pool_submit(int self, struct task *task) {
    if (self == OUTSIDE || !deque_push(self, task)) {
        task->next = NULL;
        explore_lock(&mutex);
        *end = task;
        end = &task->next;
        explore_unlock(&mutex);
    }
    wake();
}

struct task *pool_find(int self) {
    struct task *task = deque_take(self);

    if (task == NULL) {
        explore_lock(&mutex);
        if (first != NULL) {
            task = first;
            first = task->next;
            end = first == NULL ? &first : end;
        }
        explore_unlock(&mutex);
    }
    for (int tries = 0; tries < WORKERS && task == NULL; tries++) {
        task = deque_steal(victims[self]);
        if (task == NULL) {
            victims[self] = (victims[self] + 1) % WORKERS;
        }
    }
    return task;
}

struct task *pool_next(int self) {
    for (;;) {
        struct task *task = pool_find(self);
        if (task != NULL) {
            return task;
        }
        atomic_store(&sleeping[self], true);
        atomic_fetch_add(&sleepers, 1);
        task = pool_find(self);
        if (task == NULL) {
            worker_sleep(self);
            get_up(self);
            continue;
        }
        if (!get_up(self)) {
            wake();
        }
        return task;
    }
}
