/* One word has a bit for each worker that sleeps. The injection queue is a ring under a mutex, for
 * a bounded number of tasks; here is room for all tasks that a test may have. */
#include <explore.h>
#include <stdatomic.h>
#include <stddef.h>

#include "stealing.h"

enum { ROOM = 16 };

static explore_mutex mutex;
static struct task *ring[ROOM];
static unsigned put, got;
static atomic_uint sleepers;

static void notify(void) {
    unsigned bits = sleepers;

    while (bits != 0) {
        unsigned lowest = bits & -bits;
        bits = atomic_fetch_and(&sleepers, ~lowest);
        if (bits & lowest) {
            worker_wake(__builtin_ctz(lowest));
            return;
        }
    }
}

void pool_submit(int self, struct task *task) {
    if (self < 0 || !deque_push(self, task)) {
        explore_lock(&mutex);
        ring[put++ % ROOM] = task;
        explore_unlock(&mutex);
    }
    notify();
}

struct task *pool_find(int self) {
    struct task *task = deque_take(self);

    if (task != NULL) {
        return task;
    }
    explore_lock(&mutex);
    if (put != got) {
        task = ring[got++ % ROOM];
    }
    explore_unlock(&mutex);
    for (int victim = 0; task == NULL && victim < WORKERS; victim++) {
        if (victim != self) {
            task = deque_steal(victim);
        }
    }
    return task;
}

struct task *pool_next(int self) {
    unsigned bit = 1u << self;

    for (;;) {
        struct task *task = pool_find(self);
        if (task != NULL) {
            return task;
        }
        sleepers |= bit;
        if ((task = pool_find(self)) != NULL) {
            if ((atomic_fetch_and(&sleepers, ~bit) & bit) == 0) {
                notify();
            }
            return task;
        }
        worker_sleep(self);
        sleepers &= ~bit;
    }
}
