/* Futures and the states of their tasks.
 *
 *     NOT_STARTED -- claim --> IN_PROGRESS -- finish --> COMPLETED
 *
 * Three parties may want the task of a future at the same time. A worker finds its entry in a
 * deque; a caller of future_get wants the result; a caller of future_drop wants none. One of them
 * claims the task: it alone runs the task, or sees to it that it never runs.
 *
 * The entry in the deque and the caller of future_fork hold the future. Whichever lets go last
 * frees it. */
#include <stdatomic.h>

#include "forkjoin.h"

struct future {
    struct task entry; /* the first member: its address is the future's */
    atomic_int status;
    atomic_int holders;
    struct waiter *_Atomic waiter; /* who wants to know that it is COMPLETED */
    task_function *function;
    void *argument;
    long result;
};

static void let_go(struct future *f) {
    /* release: what this holder has done comes before it is freed. acquire: what the other has
     * done, too.
     */
    if (atomic_fetch_sub_explicit(&f->holders, 1, memory_order_acq_rel) == 1) {
        memory_free(f);
    }
}

/* Returns whether the caller decides about the task. */
static bool claim(struct future *f) {
    int status = NOT_STARTED;

    /* relaxed: the deque has brought function and argument, or the caller has written them. */
    return atomic_compare_exchange_strong_explicit(&f->status, &status, IN_PROGRESS,
                                                   memory_order_relaxed, memory_order_relaxed);
}

/* Runs a task that the caller has claimed. */
static void run(int self, struct future *f) {
    f->result = f->function(self, f->argument);
    /* Says that it is COMPLETED, then looks who waits. The waiter says that it waits, then looks
     * whether it is COMPLETED. By the two fences, one of them sees the other. */
    atomic_store_explicit(&f->status, COMPLETED, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
    struct waiter *w = atomic_load_explicit(&f->waiter, memory_order_acquire);
    if (w != NULL) {
        pool_unpark(w);
    }
}

static void wait_for(int self, struct future *f) {
    atomic_store_explicit(&f->waiter, pool_self(self), memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
    while (atomic_load_explicit(&f->status, memory_order_acquire) != COMPLETED) {
        pool_park(self);
    }
}

/* Takes the entry of f out of the deque of self, if it is the newest there. */
static void take_back(int self, struct future *f) {
    struct task *newest = deque_take(self);

    if (newest == &f->entry) {
        let_go(f);
    } else if (newest != NULL) {
        deque_push(self, newest);
        pool_notify(self); /* the other worker may have looked in between */
    }
}

struct future *future_fork(int self, task_function *function, void *argument) {
    struct future *f = memory_new(sizeof *f);

    *f = (struct future){.function = function, .argument = argument, .holders = 2};
    if (deque_push(self, &f->entry)) {
        pool_notify(self);
    } else {
        run(self, f);
        let_go(f);
    }
    return f;
}

long future_get(int self, struct future *f) {
    take_back(self, f);
    if (claim(f)) {
        run(self, f);
    } else {
        wait_for(self, f);
    }
    return f->result;
}

void future_drop(int self, struct future *f) {
    take_back(self, f);
    if (!claim(f)) {
        wait_for(self, f);
    }
    let_go(f);
}

bool future_step(int self) {
    struct task *entry = deque_take(self);

    if (entry == NULL) {
        entry = deque_steal(1 - self);
    }
    if (entry == NULL) {
        return false;
    }
    struct future *f = (struct future *)entry;
    if (claim(f)) {
        run(self, f);
    }
    let_go(f);
    return true;
}
