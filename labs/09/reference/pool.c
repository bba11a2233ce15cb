/* Workers whose tasks run on fibers. A fiber that waits leaves its worker to others. It stays with
 * that worker: so it is resumed only after it has left its stack. */
#include <explore.h>
#include <stdatomic.h>
#include <stddef.h>

#include "context.h"
#include "forkjoin.h"

enum { STACK = 16 << 10 };

/* A fiber, or the thread of a worker. */
struct waiter {
    int worker;
    enum place { RUNS, RUNS_WITH_TOKEN, PARKED } place; /* of a fiber, under its worker's lock */
    bool found;                                         /* whether its last look has found a task */
    struct waiter *next;
    struct marl_fiber_context context;
};

static struct worker {
    explore_mutex lock;
    struct waiter *ready; /* under lock: fibers that can go on */
    /* These are its own thread's matter: */
    struct waiter *current;         /* the fiber that runs, or NULL */
    struct waiter *idle;            /* fibers without a task */
    int parked;                     /* how many fibers have left and not come back */
    struct marl_fiber_context loop; /* where turn goes on */
    struct waiter thread;
    atomic_bool asleep; /* it sleeps, or is about to. Who makes it false, wakes the worker */
} workers[WORKERS] = {{.thread = {.worker = 0}}, {.thread = {.worker = 1}}};

static atomic_bool stopping;

static void wake(int worker) {
    if (atomic_load(&workers[worker].asleep) && atomic_exchange(&workers[worker].asleep, false)) {
        worker_wake(worker);
    }
}

/* Waiting. */

struct waiter *pool_self(int self) {
    struct worker *w = &workers[self];

    return w->current != NULL ? w->current : &w->thread;
}

void pool_park(int self) {
    struct worker *w = &workers[self];
    struct waiter *me = w->current;

    if (me == NULL) {
        worker_sleep(self);
        return;
    }
    explore_lock(&w->lock);
    bool leaves = me->place == RUNS;
    me->place = leaves ? PARKED : RUNS;
    explore_unlock(&w->lock);
    if (leaves) {
        w->parked++;
        marl_fiber_swap(&me->context, &w->loop);
        w->parked--;
    }
}

void pool_unpark(struct waiter *waiter) {
    struct worker *w = &workers[waiter->worker];

    if (waiter == &w->thread) {
        worker_wake(waiter->worker);
        return;
    }
    explore_lock(&w->lock);
    if (waiter->place == PARKED) {
        waiter->place = RUNS;
        waiter->next = w->ready;
        w->ready = waiter;
    } else {
        waiter->place = RUNS_WITH_TOKEN;
    }
    explore_unlock(&w->lock);
    wake(waiter->worker);
}

/* Running. */

static void body(void *arg) {
    struct waiter *me = arg;
    struct worker *w = &workers[me->worker];

    for (;;) {
        me->found = true; /* also if it parks in between */
        me->found = future_step(me->worker);
        me->next = w->idle;
        w->idle = me;
        marl_fiber_swap(&me->context, &w->loop);
    }
}

static struct waiter *ready_fiber(struct worker *w) {
    explore_lock(&w->lock);
    struct waiter *f = w->ready;
    if (f != NULL) {
        w->ready = f->next;
    }
    explore_unlock(&w->lock);
    return f;
}

static struct waiter *idle_fiber(int self) {
    struct worker *w = &workers[self];
    struct waiter *f = w->idle;

    if (f != NULL) {
        w->idle = f->next;
        return f;
    }
    f = memory_new(sizeof *f);
    *f = (struct waiter){.worker = self};
    marl_fiber_set_target(&f->context, memory_new(STACK), STACK, body, f);
    return f;
}

/* Resumes a fiber that can go on, or has one look for a task. Returns false if there was neither.
 */
static bool turn(int self) {
    struct worker *w = &workers[self];
    struct waiter *f = ready_fiber(w);

    if (f == NULL) {
        f = idle_fiber(self);
    }
    w->current = f;
    marl_fiber_swap(&w->loop, &f->context);
    w->current = NULL;
    return f->found;
}

void pool_notify(int self) {
    /* The entry was pushed before the fence, and asleep is read after it. A deque with a lock needs
     * no fence here, but the deque of lab 8 does. */
    atomic_thread_fence(memory_order_seq_cst);
    wake(1 - self);
}

void pool_run(int self) {
    struct worker *w = &workers[self];

    for (;;) {
        if (turn(self)) {
            continue;
        }
        atomic_store(&w->asleep, true);
        if (!turn(self)) { /* what came before asleep was true */
            if (atomic_load(&stopping) && w->parked == 0) {
                return;
            }
            worker_sleep(self);
        }
        atomic_store(&w->asleep, false);
    }
}

void pool_stop(void) {
    atomic_store(&stopping, true);
    wake(0);
    wake(1);
}
