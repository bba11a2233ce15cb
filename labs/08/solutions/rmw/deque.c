/* No fence: owner and thieves meet at bottom by atomic reads and writes. The one that comes second
 * reads what the first has written, and so sees all that the first has seen. */
#include <stdatomic.h>
#include <stddef.h>

#include "stealing.h"

struct deque {
    struct task *_Atomic slots[CAPACITY];
    atomic_int top, bottom;
};

static struct deque deques[WORKERS];

static struct task *slot(struct deque *d, int index) {
    return atomic_load_explicit(d->slots + index % CAPACITY, memory_order_relaxed);
}

static bool move_top(struct deque *d, int top) {
    return atomic_compare_exchange_strong_explicit(&d->top, &top, top + 1, memory_order_acq_rel,
                                                   memory_order_acquire);
}

bool deque_push(int worker, struct task *task) {
    struct deque *d = &deques[worker];
    int bottom = atomic_load_explicit(&d->bottom, memory_order_relaxed);

    if (bottom - atomic_load_explicit(&d->top, memory_order_acquire) == CAPACITY) {
        return false;
    }
    atomic_store_explicit(d->slots + bottom % CAPACITY, task, memory_order_relaxed);
    atomic_fetch_add_explicit(&d->bottom, 1, memory_order_acq_rel);
    return true;
}

struct task *deque_take(int worker) {
    struct deque *d = &deques[worker];
    int bottom = atomic_fetch_sub_explicit(&d->bottom, 1, memory_order_acq_rel) - 1;
    int top = atomic_load_explicit(&d->top, memory_order_acquire);
    struct task *task = NULL;

    if (top < bottom) {
        return slot(d, bottom);
    }
    if (top == bottom) {
        task = slot(d, bottom);
        if (!move_top(d, top)) {
            task = NULL;
        }
    }
    atomic_fetch_add_explicit(&d->bottom, 1, memory_order_acq_rel);
    return task;
}

struct task *deque_steal(int victim) {
    struct deque *d = &deques[victim];
    int top = atomic_load_explicit(&d->top, memory_order_acquire);

    while (top < atomic_fetch_add_explicit(&d->bottom, 0, memory_order_acq_rel)) {
        struct task *task = slot(d, top);
        if (move_top(d, top)) {
            return task;
        }
        top = atomic_load_explicit(&d->top, memory_order_acquire);
    }
    return NULL;
}
