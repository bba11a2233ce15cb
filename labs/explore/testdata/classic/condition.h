/* A condition variable on park and unpark, for the programs of this folder. All calls are made
 * under the mutex. */
#ifndef CONDITION_H
#define CONDITION_H

#include <explore.h>
#include <stdbool.h>

enum { MOST_WAITERS = 8 };

struct condition {
    int waiting[MOST_WAITERS]; /* threads, the oldest first */
    int count;
    bool woken[MOST_WAITERS]; /* by thread: it was taken from the list */
};

/* Unlocks the mutex, waits for a signal, and locks the mutex again. */
static inline void condition_wait(struct condition *c, explore_mutex *mutex) {
    int me = explore_self();

    c->waiting[c->count++] = me;
    c->woken[me] = false;
    do {
        explore_unlock(mutex);
        explore_park();
        explore_lock(mutex);
    } while (!c->woken[me]);
}

/* Wakes the thread that has waited longest, if one waits. */
static inline void condition_signal(struct condition *c) {
    if (c->count > 0) {
        int first = c->waiting[0];
        c->count--;
        for (int i = 0; i < c->count; i++) {
            c->waiting[i] = c->waiting[i + 1];
        }
        c->woken[first] = true;
        explore_unpark(first);
    }
}

/* Wakes all that wait. */
static inline void condition_broadcast(struct condition *c) {
    while (c->count > 0) {
        condition_signal(c);
    }
}

#endif
