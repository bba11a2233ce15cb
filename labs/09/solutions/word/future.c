/* Status and waiter in one word: a pointer to the waiter is a fourth status,
 * IN_PROGRESS and waited for. The one who runs the task exchanges the word, and
 * needs no fence: either the waiter is in it, or the waiter's compare-and-swap
 * comes second and fails. */
#include <stdatomic.h>
#include <stdint.h>

#include "forkjoin.h"

struct future {
    struct task entry;
    _Atomic uintptr_t word;
    atomic_bool one_left;
    task_function *function;
    void *argument;
    long result;
};

static bool claim(struct future *f) {
    uintptr_t word = NOT_STARTED;

    return atomic_compare_exchange_strong(&f->word, &word, IN_PROGRESS);
}

/* The first of the two who hold it says so; the second one frees it. */
static void leave(struct future *f) {
    if (atomic_exchange_explicit(&f->one_left, true, memory_order_acq_rel)) {
        memory_free(f);
    }
}

static void run(int self, struct future *f) {
    f->result = f->function(self, f->argument);
    uintptr_t word = atomic_exchange_explicit(&f->word, COMPLETED, memory_order_acq_rel);
    if (word > COMPLETED) {
        pool_unpark((struct waiter *)word);
    }
}

static void await(int self, struct future *f) {
    uintptr_t word = IN_PROGRESS;

    if (!atomic_compare_exchange_strong_explicit(&f->word, &word, (uintptr_t)pool_self(self),
                                                 memory_order_acq_rel, memory_order_acquire)) {
        return; /* COMPLETED */
    }
    while (atomic_load_explicit(&f->word, memory_order_acquire) != COMPLETED) {
        pool_park(self);
    }
}

struct future *future_fork(int self, task_function *function, void *argument) {
    struct future *f = memory_new(sizeof *f);

    f->function = function;
    f->argument = argument;
    atomic_init(&f->word, NOT_STARTED);
    atomic_init(&f->one_left, false);
    if (deque_push(self, &f->entry)) {
        pool_notify(self);
        return f;
    }
    atomic_init(&f->one_left, true);
    run(self, f);
    return f;
}

/* Takes f out of the deque of self if it lies at its end. */
static void unlink(int self, struct future *f) {
    struct task *task = deque_take(self);

    if (task == &f->entry) {
        leave(f);
    } else if (task != NULL && deque_push(self, task)) {
        pool_notify(self);
    }
}

long future_get(int self, struct future *f) {
    unlink(self, f);
    if (claim(f)) {
        run(self, f);
    } else {
        await(self, f);
    }
    return f->result;
}

void future_drop(int self, struct future *f) {
    unlink(self, f);
    if (!claim(f)) {
        await(self, f);
    }
    leave(f);
}

bool future_step(int self) {
    struct task *task = deque_take(self);

    if (task == NULL && (task = deque_steal(1 - self)) == NULL) {
        return false;
    }
    struct future *f = (struct future *)task;
    if (claim(f)) {
        run(self, f);
    }
    leave(f);
    return true;
}
