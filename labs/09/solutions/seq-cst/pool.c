/* Ready fibers come by a stack that other threads push to, and that the worker
 * takes as a whole. */
#include <explore.h>
#include <stdatomic.h>
#include <stddef.h>

#include "context.h"
#include "forkjoin.h"

struct waiter {
    int worker;
    bool thread, found;
    atomic_int word; /* 0: runs, 1: runs and was unparked, 2: parked */
    struct waiter *next;
    struct marl_fiber_context context;
    char stack[20000];
};

struct worker {
    struct waiter *_Atomic arrived;
    struct waiter *taken, *idle, *current;
    struct marl_fiber_context context;
    int parked;
};

static struct worker workers[WORKERS];
static struct waiter threads[WORKERS] = {{.worker = 0, .thread = true},
                                         {.worker = 1, .thread = true}};
static atomic_uint sleepers; /* a bit for each worker */
static atomic_bool stopped;

static void alert(int worker) {
    unsigned bit = 1u << worker;

    if ((sleepers & bit) != 0 && (atomic_fetch_and(&sleepers, ~bit) & bit) != 0) {
        worker_wake(worker);
    }
}

void pool_notify(int self) {
    alert(1 - self);
}

void pool_stop(void) {
    stopped = true;
    alert(0);
    alert(1);
}

struct waiter *pool_self(int self) {
    return workers[self].current != NULL ? workers[self].current : &threads[self];
}

void pool_park(int self) {
    struct worker *w = &workers[self];
    struct waiter *me = w->current;
    int runs = 0;

    if (me == NULL) {
        worker_sleep(self);
    } else if (atomic_compare_exchange_strong(&me->word, &runs, 2)) {
        w->parked++;
        marl_fiber_swap(&me->context, &w->context);
        w->parked--;
    } else {
        me->word = 0;
    }
}

void pool_unpark(struct waiter *f) {
    struct worker *w = &workers[f->worker];

    if (f->thread) {
        worker_wake(f->worker);
        return;
    }
    for (int word = f->word;;) {
        if (word == 1) {
            return;
        }
        if (atomic_compare_exchange_weak(&f->word, &word, word == 0 ? 1 : 0)) {
            if (word == 0) {
                return;
            }
            break;
        }
    }
    f->next = w->arrived;
    while (!atomic_compare_exchange_weak(&w->arrived, &f->next, f)) {
    }
    alert(f->worker);
}

static void tasks(void *arg) {
    struct waiter *me = arg;
    struct worker *w = &workers[me->worker];

    for (;;) {
        me->found = true;
        me->found = future_step(me->worker);
        me->next = w->idle;
        w->idle = me;
        marl_fiber_swap(&me->context, &w->context);
    }
}

static bool round_of(int self) {
    struct worker *w = &workers[self];

    if (w->taken == NULL) {
        w->taken = atomic_exchange(&w->arrived, NULL);
    }
    struct waiter **list = w->taken != NULL ? &w->taken : &w->idle, *f = *list;
    if (f != NULL) {
        *list = f->next;
    } else {
        f = memory_new(sizeof *f);
        f->worker = self;
        f->thread = false;
        atomic_init(&f->word, 0);
        marl_fiber_set_target(&f->context, f->stack, sizeof f->stack, tasks, f);
    }
    w->current = f;
    marl_fiber_swap(&w->context, &f->context);
    w->current = NULL;
    return f->found;
}

void pool_run(int self) {
    unsigned bit = 1u << self;

    for (;;) {
        if (round_of(self)) {
            continue;
        }
        sleepers |= bit;
        bool found = round_of(self);
        if (!found && stopped && workers[self].parked == 0) {
            return;
        }
        if (!found) {
            worker_sleep(self);
        }
        sleepers &= ~bit;
    }
}
