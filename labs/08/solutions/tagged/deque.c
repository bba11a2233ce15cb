/* Top and bottom lie in one word, and each operation is one compare-and-swap of it. So there is no
 * last task to quarrel about, and the owner pays an atomic instruction for each push and take.
 *
 * The word also has a tag, as in the deque of Arora, Blumofe and Plaxton. Without it the word comes
 * back: the owner takes a task, pushes another one into the same slot, and a thief that has read
 * the slot before does not notice. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "stealing.h"

struct ends {
    uint16_t top, bottom; /* they wrap at a multiple of CAPACITY */
    uint32_t tag;         /* counts changes */
};

static struct {
    _Atomic(struct ends) ends;
    struct task *_Atomic slots[CAPACITY];
} deques[WORKERS];

static struct ends ends_of(int worker) {
    return atomic_load_explicit(&deques[worker].ends, memory_order_acquire);
}

static bool change(int worker, struct ends from, int taken, int pushed) {
    struct ends to = {from.top + taken, from.bottom + pushed, from.tag + 1};

    return atomic_compare_exchange_weak_explicit(&deques[worker].ends, &from, to,
                                                 memory_order_acq_rel, memory_order_relaxed);
}

bool deque_push(int worker, struct task *task) {
    for (;;) {
        struct ends ends = ends_of(worker);
        if ((uint16_t)(ends.bottom - ends.top) == CAPACITY) {
            return false;
        }
        atomic_store_explicit(&deques[worker].slots[ends.bottom % CAPACITY], task,
                              memory_order_relaxed);
        if (change(worker, ends, 0, 1)) {
            return true;
        }
    }
}

struct task *deque_take(int worker) {
    for (;;) {
        struct ends ends = ends_of(worker);
        if (ends.bottom == ends.top) {
            return NULL;
        }
        uint16_t newest = ends.bottom - 1;
        struct task *task =
            atomic_load_explicit(&deques[worker].slots[newest % CAPACITY], memory_order_relaxed);
        if (change(worker, ends, 0, -1)) {
            return task;
        }
    }
}

struct task *deque_steal(int victim) {
    for (;;) {
        struct ends ends = ends_of(victim);
        if (ends.bottom == ends.top) {
            return NULL;
        }
        struct task *task =
            atomic_load_explicit(&deques[victim].slots[ends.top % CAPACITY], memory_order_relaxed);
        if (change(victim, ends, 1, 0)) {
            return task;
        }
    }
}
