/* One word has a bit for each thing that has happened to a future. Each bit is set once,
 * and the old word says who does what. The caller that sets CLAIMED decides what becomes of
 * the task. The worker that sets ENDED wakes the waiter, if there is one. Whichever call
 * sets the second of UNQUEUED and DROPPED frees the future. */
#include <stdatomic.h>

#include "forkjoin.h"

enum { CLAIMED = 1, ENDED = 2, WAITED_FOR = 4, UNQUEUED = 8, DROPPED = 16 };

struct future {
    struct task entry;
    atomic_uint bits;
    struct waiter *waiter; /* valid if WAITED_FOR */
    task_function *function;
    void *argument;
    long result;
};

/* Sets the bit and returns whether the bits of mask were set before. */
static bool set(struct future *f, unsigned bit, unsigned mask) {
    return (atomic_fetch_or_explicit(&f->bits, bit, memory_order_acq_rel) & mask) != 0;
}

static void run(int self, struct future *f) {
    f->result = f->function(self, f->argument);
    if (set(f, ENDED, WAITED_FOR)) {
        pool_unpark(f->waiter);
    }
}

static void wait_for(int self, struct future *f) {
    if (atomic_load_explicit(&f->bits, memory_order_acquire) & WAITED_FOR) {
        return; /* an earlier get has waited */
    }
    f->waiter = pool_self(self);
    if (set(f, WAITED_FOR, ENDED)) {
        return;
    }
    while ((atomic_load_explicit(&f->bits, memory_order_acquire) & ENDED) == 0) {
        pool_park(self);
    }
}

static void unqueued(struct future *f) {
    if (set(f, UNQUEUED, DROPPED)) {
        memory_free(f);
    }
}

static void unqueue(int self, struct future *f) {
    struct task *task = deque_take(self);

    if (task == &f->entry) {
        unqueued(f);
    } else if (task != NULL) {
        deque_push(self, task);
        pool_notify(self);
    }
}

struct future *future_fork(int self, task_function *function, void *argument) {
    struct future *f = memory_new(sizeof *f);

    *f = (struct future){.function = function, .argument = argument};
    if (!deque_push(self, &f->entry)) {
        set(f, CLAIMED | UNQUEUED, 0);
        run(self, f);
        return f;
    }
    pool_notify(self);
    return f;
}

long future_get(int self, struct future *f) {
    unqueue(self, f);
    if (set(f, CLAIMED, CLAIMED)) {
        wait_for(self, f);
    } else {
        run(self, f);
    }
    return f->result;
}

void future_drop(int self, struct future *f) {
    unqueue(self, f);
    if (set(f, CLAIMED, CLAIMED)) {
        wait_for(self, f);
    }
    if (set(f, DROPPED, UNQUEUED)) {
        memory_free(f);
    }
}

bool future_step(int self) {
    struct task *task = deque_take(self);

    if (task == NULL) {
        task = deque_steal(1 - self);
    }
    if (task != NULL) {
        struct future *f = (struct future *)task;
        if (!set(f, CLAIMED, CLAIMED)) {
            run(self, f);
        }
        unqueued(f);
    }
    return task != NULL;
}
