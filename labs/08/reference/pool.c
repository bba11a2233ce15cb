/* Where tasks wait, which one a worker runs next, and how a worker sleeps.
 *
 * A submitter queues a task, then looks who is asleep. A worker says that it is asleep, then looks
 * for a task once more. So one of the two sees the other. */
#include <explore.h>
#include <stdatomic.h>
#include <stddef.h>

#include "stealing.h"

/* The injection queue: tasks from outside, and those for which a deque has no room. */
static explore_mutex lock;
static struct task *oldest, **end = &oldest; /* under lock; *end is NULL */

/* Workers that sleep, or are about to. The thread that makes one false wakes that worker. */
static atomic_bool asleep[WORKERS];

/* Wakes one worker that sleeps, if there is one. The first one asked is the neighbour of self. */
static void wake_one(int self) {
    /* seq_cst, with the fence of deque_steal: the task was queued before it, and asleep is read
     * after it. A worker whose asleep is still false here will see the task. */
    atomic_thread_fence(memory_order_seq_cst);
    for (int i = 1; i <= WORKERS; i++) {
        int worker = (self + i) % WORKERS;
        if (atomic_load_explicit(&asleep[worker], memory_order_relaxed) &&
            atomic_exchange_explicit(&asleep[worker], false, memory_order_relaxed)) {
            worker_wake(worker);
            return;
        }
    }
}

void pool_submit(int self, struct task *task) {
    if (self == OUTSIDE || !deque_push(self, task)) {
        explore_lock(&lock);
        task->next = NULL;
        *end = task;
        end = &task->next;
        explore_unlock(&lock);
    }
    wake_one(self);
}

struct task *pool_find(int self) {
    struct task *task = deque_take(self);

    if (task == NULL) {
        explore_lock(&lock);
        task = oldest;
        if (task != NULL) {
            oldest = task->next;
            if (oldest == NULL) {
                end = &oldest;
            }
        }
        explore_unlock(&lock);
    }
    for (int i = 1; i < WORKERS && task == NULL; i++) {
        task = deque_steal((self + i) % WORKERS);
    }
    return task;
}

struct task *pool_next(int self) {
    struct task *task;

    while ((task = pool_find(self)) == NULL) {
        /* The fence between this store and the look at another worker's bottom is the one of
         * deque_steal. The injection queue has its lock. */
        atomic_store_explicit(&asleep[self], true, memory_order_relaxed);
        task = pool_find(self);
        if (task == NULL) {
            worker_sleep(self);
        }
        bool woken = !atomic_exchange_explicit(&asleep[self], false, memory_order_relaxed);
        if (task != NULL) {
            /* The thread that has woken this worker counts on it for another task. */
            if (woken) {
                wake_one(self);
            }
            return task;
        }
    }
    return task;
}
