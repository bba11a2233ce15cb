/* A mutex for each deque, and an array whose tasks move down when the oldest one goes. */
#include <explore.h>
#include <stddef.h>

#include "stealing.h"

static struct deque {
    explore_mutex mutex;
    int count;
    struct task *tasks[CAPACITY]; /* the oldest first */
} deques[WORKERS];

bool deque_push(int worker, struct task *task) {
    struct deque *d = &deques[worker];

    explore_lock(&d->mutex);
    bool room = d->count < CAPACITY;
    if (room) {
        d->tasks[d->count++] = task;
    }
    explore_unlock(&d->mutex);
    return room;
}

struct task *deque_take(int worker) {
    struct deque *d = &deques[worker];

    explore_lock(&d->mutex);
    struct task *task = d->count > 0 ? d->tasks[--d->count] : NULL;
    explore_unlock(&d->mutex);
    return task;
}

struct task *deque_steal(int victim) {
    struct deque *d = &deques[victim];
    struct task *task = NULL;

    explore_lock(&d->mutex);
    if (d->count > 0) {
        task = d->tasks[0];
        d->count--;
        for (int i = 0; i < d->count; i++) {
            d->tasks[i] = d->tasks[i + 1];
        }
    }
    explore_unlock(&d->mutex);
    return task;
}
