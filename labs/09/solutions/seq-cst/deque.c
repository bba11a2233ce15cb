/* A deque without a lock, whose accesses are all sequentially consistent. A
 * task at index i is in slot i mod CAPACITY; only the owner stores to end, and
 * who moves oldest has taken its task. */
#include <stdatomic.h>
#include <stddef.h>

#include "stealing.h"

static struct {
    atomic_long oldest, end;
    struct task *_Atomic slots[CAPACITY];
} deques[WORKERS];

static struct task *move_oldest(int worker, long from) {
    struct task *task = deques[worker].slots[from % CAPACITY];

    return atomic_compare_exchange_strong(&deques[worker].oldest, &from, from + 1) ? task : NULL;
}

bool deque_push(int worker, struct task *task) {
    long end = deques[worker].end;

    if (end - deques[worker].oldest == CAPACITY) {
        return false;
    }
    deques[worker].slots[end % CAPACITY] = task;
    deques[worker].end = end + 1;
    return true;
}

struct task *deque_take(int worker) {
    long last = deques[worker].end - 1;
    struct task *task = NULL;

    if (deques[worker].oldest > last) { /* empty; nobody but the owner adds anything */
        return NULL;
    }
    deques[worker].end = last;
    long oldest = deques[worker].oldest;
    if (oldest < last) {
        return deques[worker].slots[last % CAPACITY];
    }
    if (oldest == last) {
        task = move_oldest(worker, oldest);
    }
    deques[worker].end = last + 1;
    return task;
}

struct task *deque_steal(int victim) {
    for (;;) {
        long oldest = deques[victim].oldest;
        if (oldest >= deques[victim].end) {
            return NULL;
        }
        struct task *task = move_oldest(victim, oldest);
        if (task != NULL) {
            return task;
        }
    }
}
