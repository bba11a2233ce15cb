/* No fiber goes back to a loop: a fiber that parks resumes the next one itself.
 * The worker's loop runs on each fiber in turn, and the thread's own stack is
 * left when pool_run begins, and resumed when it ends. */
#include <explore.h>
#include <stdatomic.h>
#include <stddef.h>

#include "context.h"
#include "forkjoin.h"

enum { STACK = 16 << 10 };

struct waiter {
    int worker;
    atomic_int tokens; /* 1: it was called; 0; -1: it waits */
    struct waiter *next;
    struct marl_fiber_context context;
};

static struct worker {
    struct waiter thread;
    struct waiter *current, *spare;
    int waiting;
    explore_mutex lock;
    struct waiter *ready;
    atomic_bool asleep;
} workers[WORKERS] = {{.thread = {.worker = 0}}, {.thread = {.worker = 1}}};

static atomic_bool over;

static void rouse(int worker) {
    if (atomic_exchange(&workers[worker].asleep, false)) {
        worker_wake(worker);
    }
}

static void switch_to(struct worker *w, struct waiter *to) {
    struct waiter *from = w->current;

    w->current = to;
    marl_fiber_swap(&from->context, &to->context);
}

static struct waiter *next_ready(struct worker *w) {
    explore_lock(&w->lock);
    struct waiter **link = &w->ready;
    while (*link != NULL && (*link)->next != NULL) { /* the one that has been there longest */
        link = &(*link)->next;
    }
    struct waiter *f = *link;
    *link = NULL;
    explore_unlock(&w->lock);
    return f;
}

/* The loop of a worker, on the stack of any fiber. */
static void loop(void *arg) {
    struct waiter *me = arg;
    int self = me->worker;
    struct worker *w = &workers[self];

    for (;;) {
        bool lies_down = false;
        for (;;) {
            struct waiter *f = next_ready(w);
            if (f != NULL) {
                me->next = w->spare;
                w->spare = me;
                switch_to(w, f); /* until somebody needs a loop */
                lies_down = false;
                continue;
            }
            if (future_step(self)) {
                lies_down = false;
                continue;
            }
            if (lies_down) {
                break;
            }
            atomic_store(&w->asleep, true);
            lies_down = true;
        }
        if (atomic_load(&over) && w->waiting == 0) {
            switch_to(w, &w->thread);
        }
        worker_sleep(self);
        atomic_store(&w->asleep, false);
    }
}

static struct waiter *spare(int self) {
    struct worker *w = &workers[self];
    struct waiter *f = w->spare;

    if (f != NULL) {
        w->spare = f->next;
        return f;
    }
    f = memory_new(sizeof *f);
    *f = (struct waiter){.worker = self};
    marl_fiber_set_target(&f->context, memory_new(STACK), STACK, loop, f);
    return f;
}

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
    if (atomic_fetch_sub(&me->tokens, 1) > 0) {
        return;
    }
    w->waiting++;
    struct waiter *to = next_ready(w);
    switch_to(w, to != NULL ? to : spare(self));
    w->waiting--;
}

void pool_unpark(struct waiter *waiter) {
    struct worker *w = &workers[waiter->worker];

    if (waiter == &w->thread) {
        worker_wake(waiter->worker);
        return;
    }
    int tokens = atomic_load(&waiter->tokens);
    do {
        if (tokens == 1) {
            return;
        }
    } while (!atomic_compare_exchange_weak(&waiter->tokens, &tokens, tokens + 1));
    if (tokens < 0) {
        explore_lock(&w->lock);
        waiter->next = w->ready;
        w->ready = waiter;
        explore_unlock(&w->lock);
        rouse(waiter->worker);
    }
}

void pool_notify(int self) {
    atomic_thread_fence(memory_order_seq_cst);
    rouse(1 - self);
}

void pool_run(int self) {
    struct worker *w = &workers[self];

    w->current = &w->thread;
    switch_to(w, spare(self));
    w->current = NULL;
}

void pool_stop(void) {
    atomic_store(&over, true);
    rouse(0);
    rouse(1);
}
