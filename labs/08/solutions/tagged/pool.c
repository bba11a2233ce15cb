/* A worker says that it sleeps by an atomic read and write of a word of its own, and so does
 * the thread that wakes it. Two of these to one word are in an order, so there is no fence. */
#include <explore.h>
#include <stdatomic.h>
#include <stddef.h>

#include "stealing.h"

enum state { AWAKE, ASLEEP };

static explore_mutex mutex;
static struct task *injected; /* the newest first */
static _Atomic(enum state) states[WORKERS];

static void wake(void) {
    for (int worker = WORKERS - 1; worker >= 0; worker--) {
        if (atomic_exchange_explicit(&states[worker], AWAKE, memory_order_acq_rel) == ASLEEP) {
            worker_wake(worker);
            return;
        }
    }
}

void pool_submit(int self, struct task *task) {
    if (self == OUTSIDE || !deque_push(self, task)) {
        explore_lock(&mutex);
        task->next = injected;
        injected = task;
        explore_unlock(&mutex);
    }
    wake();
}

static struct task *oldest(void) {
    explore_lock(&mutex);
    struct task **at = &injected;
    while (*at != NULL && (*at)->next != NULL) {
        at = &(*at)->next;
    }
    struct task *task = *at;
    *at = NULL;
    explore_unlock(&mutex);
    return task;
}

struct task *pool_find(int self) {
    struct task *task = deque_take(self);

    if (task == NULL && (task = oldest()) == NULL) {
        for (int i = 0; i < WORKERS && task == NULL; i++) {
            task = deque_steal(i);
        }
    }
    return task;
}

struct task *pool_next(int self) {
    struct task *task = pool_find(self);

    while (task == NULL) {
        atomic_exchange_explicit(&states[self], ASLEEP, memory_order_acq_rel);
        task = pool_find(self);
        if (task == NULL) {
            worker_sleep(self);
        }
        enum state was = atomic_exchange_explicit(&states[self], AWAKE, memory_order_acq_rel);
        if (task == NULL) {
            task = pool_find(self);
        } else if (was == AWAKE) {
            wake(); /* in this worker's place */
        }
    }
    return task;
}
