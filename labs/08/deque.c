/* A deque for each worker. stealing.h says what each function has to do; the numbers are sections
 * of handout.md. */
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

    /* 8.2: put task into the slot of bottom, and move bottom. */
    (void)d;
    (void)task;
    return false;
}

struct task *deque_take(int worker) {
    struct deque *d = &deques[worker];

    /* 8.2: move bottom back, and take what lies there. 8.4: a thief may want it, too. */
    (void)d;
    return NULL;
}

struct task *deque_steal(int victim) {
    struct deque *d = &deques[victim];

    /* 8.3: take what lies at top, and move top. 8.4: others may want it, too. */
    (void)d;
    return NULL;
}
