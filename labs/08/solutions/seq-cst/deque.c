/* Every access is sequentially consistent, which is what C does where no order is named. So there
 * is no fence: bottom and top are stored to and read in one order that all threads agree on. */
#include <stdatomic.h>
#include <stddef.h>

#include "stealing.h"

static struct {
    atomic_uint top, bottom; /* they count on for ever, and may wrap */
    struct task *_Atomic ring[CAPACITY];
} deques[WORKERS];

bool deque_push(int worker, struct task *task) {
    unsigned bottom = deques[worker].bottom;

    if (bottom - deques[worker].top >= CAPACITY) {
        return false;
    }
    deques[worker].ring[bottom % CAPACITY] = task;
    deques[worker].bottom = bottom + 1;
    return true;
}

struct task *deque_take(int worker) {
    unsigned bottom = deques[worker].bottom, top = deques[worker].top;

    if (top == bottom) { /* thieves bring nothing */
        return NULL;
    }
    bottom--;
    deques[worker].bottom = bottom;
    top = deques[worker].top;
    struct task *task = deques[worker].ring[bottom % CAPACITY];
    if ((int)(bottom - top) > 0) {
        return task;
    }
    unsigned expected = bottom;
    if (!atomic_compare_exchange_strong(&deques[worker].top, &expected, bottom + 1)) {
        task = NULL;
    }
    deques[worker].bottom = bottom + 1;
    return task;
}

struct task *deque_steal(int victim) {
    for (;;) {
        unsigned top = deques[victim].top, bottom = deques[victim].bottom;

        if ((int)(bottom - top) <= 0) {
            return NULL;
        }
        struct task *task = deques[victim].ring[top % CAPACITY];
        if (atomic_compare_exchange_weak(&deques[victim].top, &top, top + 1)) {
            return task;
        }
    }
}
