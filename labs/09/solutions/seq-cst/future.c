/* Every access is sequentially consistent, so no fence is needed. An entry is a
 * block of its own, and each future says who is last by a count that begins at
 * 0. */
#include <stdatomic.h>

#include "forkjoin.h"

struct entry {
    struct task task;
    struct future *future;
};

struct future {
    atomic_int status, gone;
    struct waiter *_Atomic waiter;
    struct entry *entry;
    task_function *function;
    void *argument;
    long result;
};

static bool begin(struct future *f) {
    int expected = NOT_STARTED;

    return f->status == NOT_STARTED &&
           atomic_compare_exchange_strong(&f->status, &expected, IN_PROGRESS);
}

static void complete(int self, struct future *f) {
    f->result = f->function(self, f->argument);
    f->status = COMPLETED;
    struct waiter *w = f->waiter;
    if (w != NULL) {
        pool_unpark(w);
    }
}

static void gone(struct future *f) {
    if (f->gone++ == 1) {
        memory_free(f);
    }
}

struct future *future_fork(int self, task_function *function, void *argument) {
    struct future *f = memory_new(sizeof *f);
    struct entry *e = memory_new(sizeof *e);

    *f = (struct future){.function = function, .argument = argument, .entry = e};
    e->future = f;
    if (!deque_push(self, &e->task)) {
        memory_free(e);
        f->entry = NULL;
        f->gone = 1;
        complete(self, f);
        return f;
    }
    pool_notify(self);
    return f;
}

/* Waits until the task has ended, or claims it. Returns whether it has claimed
 * it. */
static bool claim_or_wait(int self, struct future *f) {
    struct task *newest = f->entry != NULL ? deque_take(self) : NULL;

    if (newest == &f->entry->task && newest != NULL) {
        memory_free(f->entry);
        f->entry = NULL;
        gone(f);
    } else if (newest != NULL) {
        deque_push(self, newest);
        pool_notify(self);
    }
    if (begin(f)) {
        return true;
    }
    if (f->status != COMPLETED) {
        f->waiter = pool_self(self);
        while (f->status != COMPLETED) {
            pool_park(self);
        }
    }
    return false;
}

long future_get(int self, struct future *f) {
    if (claim_or_wait(self, f)) {
        complete(self, f);
    }
    return f->result;
}

void future_drop(int self, struct future *f) {
    claim_or_wait(self, f);
    gone(f);
}

bool future_step(int self) {
    struct entry *e = (struct entry *)deque_take(self);

    if (e == NULL) {
        e = (struct entry *)deque_steal(1 - self);
    }
    if (e == NULL) {
        return false;
    }
    struct future *f = e->future;
    memory_free(e);
    if (begin(f)) {
        complete(self, f);
    }
    gone(f);
    return true;
}
