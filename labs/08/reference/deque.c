/* The deque of Chase and Lev, in a ring of fixed size.
 *
 *     index     0    1    2    3    4    5         each task gets the next index, which only grows;
 *                    +----+----+----+              the task of index i lies in slot i mod CAPACITY
 *                    | A  | B  | C  |
 *                    +----+----+----+
 *                    ^              ^
 *                   top           bottom
 *              steal: A, top + 1      push: a task at bottom, bottom + 1
 *                                     take: bottom - 1, C
 *
 * bottom belongs to the owner: no other thread stores to it. top changes by compare-and-swap alone,
 * and only grows. So the owner and a thief meet at the last task alone, and there top decides. */
#include <stdatomic.h>
#include <stddef.h>

#include "stealing.h"

struct deque {
    atomic_long top;    /* the index of the oldest task */
    atomic_long bottom; /* the index that the next task gets */
    struct task *_Atomic slots[CAPACITY];
};

static struct deque deques[WORKERS];

bool deque_push(int worker, struct task *task) {
    struct deque *d = &deques[worker];
    long b = atomic_load_explicit(&d->bottom, memory_order_relaxed);
    /* acquire, with the release of a thief's compare-and-swap: the thief that has moved top has
     * read its slot before the owner writes to that slot again. */
    long t = atomic_load_explicit(&d->top, memory_order_acquire);

    if (b - t == CAPACITY) {
        return false;
    }
    atomic_store_explicit(&d->slots[b % CAPACITY], task, memory_order_relaxed);
    /* release, with the acquire of bottom in deque_steal: a thief that sees the index sees the
     * slot, and what the task is about. It is a fence because deque_take stores to bottom as well:
     * a fence serves all later stores. */
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&d->bottom, b + 1, memory_order_relaxed);
    return true;
}

/* Moves top from t to t + 1. Returns false if another thread has done so. */
static bool claim(struct deque *d, long t) {
    return atomic_compare_exchange_strong_explicit(&d->top, &t, t + 1, memory_order_release,
                                                   memory_order_relaxed);
}

struct task *deque_take(int worker) {
    struct deque *d = &deques[worker];
    long b = atomic_load_explicit(&d->bottom, memory_order_relaxed) - 1;

    /* The owner says that it comes, then looks at top; a thief moves top, and the next one that
     * comes looks at bottom. seq_cst, with the fence of deque_steal: one of the two sees what the
     * other has stored. */
    atomic_store_explicit(&d->bottom, b, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    long t = atomic_load_explicit(&d->top, memory_order_relaxed);

    if (t < b) {
        return atomic_load_explicit(&d->slots[b % CAPACITY], memory_order_relaxed);
    }
    struct task *task = NULL;
    if (t == b && claim(d, t)) {
        task = atomic_load_explicit(&d->slots[b % CAPACITY], memory_order_relaxed);
    }
    atomic_store_explicit(&d->bottom, b + 1, memory_order_relaxed); /* empty: top is there now */
    return task;
}

struct task *deque_steal(int victim) {
    struct deque *d = &deques[victim];
    struct task *task;
    long t;

    do {
        t = atomic_load_explicit(&d->top, memory_order_relaxed);
        atomic_thread_fence(memory_order_seq_cst); /* with the fence of deque_take */
        /* acquire, with the fence of deque_push: the slot, and the task, are written. */
        long b = atomic_load_explicit(&d->bottom, memory_order_acquire);
        if (t >= b) {
            return NULL;
        }
        /* Before top moves: then the owner may use the slot for another task. */
        task = atomic_load_explicit(&d->slots[t % CAPACITY], memory_order_relaxed);
    } while (!claim(d, t)); /* another thread has this one; the next may be there */
    return task;
}
