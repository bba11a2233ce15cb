/* A deque for each worker, with a lock. Given. Your deque of lab 8 can stand in its place. */
#include <explore.h>
#include <stddef.h>

#include "stealing.h"

static struct deque {
    explore_mutex lock;
    unsigned oldest, end;         /* the indices of the oldest task, and behind the newest one */
    struct task *tasks[CAPACITY]; /* index i is at i mod CAPACITY */
} deques[WORKERS];

bool deque_push(int worker, struct task *task) {
    struct deque *d = &deques[worker];

    explore_lock(&d->lock);
    bool room = d->end - d->oldest < CAPACITY;
    if (room) {
        d->tasks[d->end++ % CAPACITY] = task;
    }
    explore_unlock(&d->lock);
    return room;
}

struct task *deque_take(int worker) {
    struct deque *d = &deques[worker];

    explore_lock(&d->lock);
    struct task *task = d->end != d->oldest ? d->tasks[--d->end % CAPACITY] : NULL;
    explore_unlock(&d->lock);
    return task;
}

struct task *deque_steal(int victim) {
    struct deque *d = &deques[victim];

    explore_lock(&d->lock);
    struct task *task = d->end != d->oldest ? d->tasks[d->oldest++ % CAPACITY] : NULL;
    explore_unlock(&d->lock);
    return task;
}
