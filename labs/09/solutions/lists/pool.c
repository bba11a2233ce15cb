/* One lock for the pool. A worker counts its calls: a thread that has something for it adds
 * one, whether the worker sleeps or not. A worker that was called since its last look does
 * not sleep, but looks again. The ready fibers are a queue. */
#include <explore.h>
#include <stddef.h>

#include "context.h"
#include "forkjoin.h"

struct waiter {
    int worker;
    bool away, called; /* under the lock */
    bool busy;
    struct waiter *next;
    struct marl_fiber_context context;
    char stack[16 << 10];
};

struct worker {
    struct waiter *first, **end; /* ready, under the lock */
    unsigned calls;              /* under the lock */
    bool sleeps;                 /* under the lock */
    struct waiter *current, *free;
    int away;
    struct marl_fiber_context loop;
};

static explore_mutex lock;
static struct waiter threads[WORKERS] = {{.worker = 0}, {.worker = 1}};
static struct worker workers[WORKERS];
static bool stopped;

/* The caller has the lock. */
static void call(int worker) {
    workers[worker].calls++;
    if (workers[worker].sleeps) {
        workers[worker].sleeps = false;
        worker_wake(worker);
    }
}

struct waiter *pool_self(int self) {
    struct waiter *current = workers[self].current;

    return current == NULL ? &threads[self] : current;
}

void pool_park(int self) {
    struct waiter *me = workers[self].current;

    if (me == NULL) {
        worker_sleep(self);
        return;
    }
    explore_lock(&lock);
    me->away = !me->called;
    me->called = false;
    bool leaves = me->away;
    explore_unlock(&lock);
    if (leaves) {
        workers[self].away++;
        marl_fiber_swap(&me->context, &workers[self].loop);
        workers[self].away--;
    }
}

void pool_unpark(struct waiter *waiter) {
    if (waiter == &threads[0] || waiter == &threads[1]) {
        worker_wake(waiter->worker);
        return;
    }
    explore_lock(&lock);
    struct worker *w = &workers[waiter->worker];
    if (waiter->away) {
        waiter->away = false;
        waiter->next = NULL;
        if (w->first == NULL) {
            w->end = &w->first;
        }
        *w->end = waiter;
        w->end = &waiter->next;
        call(waiter->worker);
    } else {
        waiter->called = true;
    }
    explore_unlock(&lock);
}

void pool_notify(int self) {
    explore_lock(&lock);
    call(1 - self);
    explore_unlock(&lock);
}

void pool_stop(void) {
    explore_lock(&lock);
    stopped = true;
    call(0);
    call(1);
    explore_unlock(&lock);
}

static void body(void *arg) {
    struct waiter *me = arg;
    struct worker *w = &workers[me->worker];

    for (;;) {
        while (future_step(me->worker)) {
        }
        me->busy = false;
        me->next = w->free;
        w->free = me;
        marl_fiber_swap(&me->context, &w->loop);
    }
}

void pool_run(int self) {
    struct worker *w = &workers[self];

    for (;;) {
        explore_lock(&lock);
        unsigned seen = w->calls;
        bool last = stopped;
        struct waiter *f = w->first;
        if (f != NULL) {
            w->first = f->next;
        }
        explore_unlock(&lock);

        bool resumed = f != NULL;
        if (f == NULL && w->free != NULL) {
            f = w->free;
            w->free = f->next;
        } else if (f == NULL) {
            f = memory_new(sizeof *f);
            f->worker = self;
            f->away = f->called = false;
            marl_fiber_set_target(&f->context, f->stack, sizeof f->stack, body, f);
        }
        f->busy = true;
        w->current = f;
        marl_fiber_swap(&w->loop, &f->context);
        w->current = NULL;
        if (resumed || f->busy) { /* busy: it has left in the middle of a task */
            continue;
        }
        explore_lock(&lock);
        bool idle = w->calls == seen;
        w->sleeps = idle && !(last && w->away == 0);
        bool sleeps = w->sleeps;
        explore_unlock(&lock);
        if (sleeps) {
            worker_sleep(self);
        } else if (idle) {
            return;
        }
    }
}
