/* A worker has one list, of all its fibers. Each fiber says in one word what it
 * does, and the worker looks for one that can go on. */
#include <explore.h>
#include <stdatomic.h>
#include <stddef.h>

#include "context.h"
#include "forkjoin.h"

struct waiter {
    int worker; /* -1, -2: the thread of worker 0, 1 */
    atomic_int does;
    bool found; /* a task, since it was resumed */
    struct waiter *next;
    struct marl_fiber_context context;
};

enum { NOTHING, RUNS, RUNS_AND_WAS_CALLED, WAITS, CAN_GO_ON };

static struct waiter threads[WORKERS] = {{.worker = -1}, {.worker = -2}};
static struct waiter *fibers[WORKERS], *current[WORKERS]; /* each worker's own */
static struct marl_fiber_context loops[WORKERS];
static atomic_bool lying[WORKERS], ended;

static void call(int worker) {
    atomic_thread_fence(memory_order_seq_cst);
    if (lying[worker] && atomic_exchange(&lying[worker], false)) {
        worker_wake(worker);
    }
}

void pool_notify(int self) {
    call(1 - self);
}

void pool_stop(void) {
    ended = true;
    call(1);
    call(0);
}

struct waiter *pool_self(int self) {
    return current[self] ? current[self] : &threads[self];
}

void pool_park(int self) {
    struct waiter *me = current[self];

    if (me == NULL) {
        worker_sleep(self);
        return;
    }
    int does = RUNS;
    if (!atomic_compare_exchange_strong(&me->does, &does, WAITS)) {
        me->does = RUNS;
        return;
    }
    marl_fiber_swap(&me->context, &loops[self]);
}

void pool_unpark(struct waiter *w) {
    if (w->worker < 0) {
        worker_wake(-1 - w->worker);
        return;
    }
    int does = RUNS;
    if (!atomic_compare_exchange_strong(&w->does, &does, RUNS_AND_WAS_CALLED) && does == WAITS &&
        atomic_compare_exchange_strong(&w->does, &does, CAN_GO_ON)) {
        call(w->worker);
    }
}

static void body(void *arg) {
    struct waiter *me = arg;

    for (;;) {
        while (future_step(me->worker)) {
            me->found = true;
        }
        me->does = NOTHING;
        marl_fiber_swap(&me->context, &loops[me->worker]);
    }
}

/* A fiber of the worker that does this, or NULL. */
static struct waiter *one_that(int self, int does) {
    struct waiter *f = fibers[self];

    while (f != NULL && f->does != does) {
        f = f->next;
    }
    return f;
}

static void resume(int self, struct waiter *f) {
    f->does = RUNS;
    f->found = false;
    current[self] = f;
    marl_fiber_swap(&loops[self], &f->context);
    current[self] = NULL;
}

/* Returns whether something was done, or may have been. */
static bool work(int self) {
    struct waiter *f = one_that(self, CAN_GO_ON);

    if (f != NULL) {
        resume(self, f);
        return true;
    }
    f = one_that(self, NOTHING);
    if (f == NULL) {
        f = memory_new(sizeof *f);
        *f = (struct waiter){.worker = self, .next = fibers[self]};
        fibers[self] = f;
        marl_fiber_set_target(&f->context, memory_new(1 << 14), 1 << 14, body, f);
    }
    resume(self, f);
    return f->found || f->does != NOTHING; /* or it has parked in a task */
}

void pool_run(int self) {
    for (;;) {
        while (work(self)) {
        }
        lying[self] = true;
        if (!work(self)) {
            if (ended && one_that(self, WAITS) == NULL && one_that(self, CAN_GO_ON) == NULL) {
                return;
            }
            worker_sleep(self);
        }
        lying[self] = false;
    }
}
