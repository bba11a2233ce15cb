/* The threads that wait, in a list: the one that has waited longest is woken first. Each node lies
 * on the stack of its thread, and a lock of the condition guards the list. */
#include "sleep.h"
#include <stddef.h>

struct waiter {
    struct waiter *next;
    int thread;
    bool woken; /* it is in the list no more */
};

static struct {
    explore_mutex lock;
    struct waiter *first, **end;
} list[CONDITIONS];

void condition_wait(int c, explore_mutex *mutex) {
    struct waiter me = {NULL, explore_self(), false};
    bool woken = false;

    explore_lock(&list[c].lock);
    if (!list[c].first)
        list[c].end = &list[c].first;
    *list[c].end = &me;
    list[c].end = &me.next;
    explore_unlock(&list[c].lock);
    explore_unlock(mutex);
    while (!woken) {
        explore_park();
        explore_lock(&list[c].lock);
        woken = me.woken;
        explore_unlock(&list[c].lock);
    }
    explore_lock(mutex);
}

/* Wakes the first thread. Reports whether there was one. */
static bool wake(int c) {
    explore_lock(&list[c].lock);

    struct waiter *w = list[c].first;
    int thread = w ? w->thread : 0;

    if (w) {
        list[c].first = w->next;
        w->woken = true; /* after the unlock the thread may return, and w is gone */
    }
    explore_unlock(&list[c].lock);
    if (w)
        explore_unpark(thread);
    return w;
}

void condition_signal(int c) {
    wake(c);
}

void condition_broadcast(int c) {
    while (wake(c)) {
    }
}
