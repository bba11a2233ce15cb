/* A spin lock instead of the mutex, deadlines in no order, and one list of all fibers, which is
 * searched for an idle one and for the earliest deadline. */
#include "scheduler.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "context.h"

enum { STACK = 16 << 10 };

/* What the run queue is made of: a fiber that can go on, or a task that has not begun. */
struct ready {
    struct ready *next;
    struct fiber *fiber; /* null for a task, which has: */
    task_function *function;
    void *arg;
};

struct fiber {
    struct ready ready;
    struct marl_fiber_context context;
    struct worker *worker;
    enum fiber_state state;
    unsigned deadline, number; /* number orders waits with the same deadline */
    bool notified;             /* how the last wait ended */
    task_function *function;
    void *arg;
    struct fiber *made_before; /* in the list of all */
    void *stack;
};

struct worker {
    atomic_flag locked;
    struct ready *first, **end; /* the run queue; end is the link behind its last entry */
    struct fiber *all;
    struct marl_fiber_context context; /* of the thread that serves, while a fiber runs */
    int thread;                        /* its number */
    int own_thread;                    /* the one that worker_start started, or 0 */
    int blocked;                       /* fibers that are Yielded or Waiting */
    bool asleep, stopping;
    unsigned now, waits;
};

static void *allocate(size_t size) {
    void *memory = malloc(size);

    if (!memory)
        abort();
    return memory;
}

static void enter(struct worker *w) {
    while (atomic_flag_test_and_set_explicit(&w->locked, memory_order_acquire))
        explore_yield();
}

static void quit(struct worker *w) {
    atomic_flag_clear_explicit(&w->locked, memory_order_release);
}

/* Each transition names both states, so that an illegal one ends the program where it happens. */
static void move(struct fiber *f, enum fiber_state from, enum fiber_state to) {
    assert(f->state == from);
    f->state = to;
}

/* The worker looks and says under the mutex that it sleeps, before it parks. Another thread adds
 * something before the worker looks, or it sees `asleep`. If the token comes before the worker
 * parks, the worker finds it there. */
static void wake(struct worker *w) {
    if (w->asleep)
        explore_unpark(w->thread);
}

static void push(struct worker *w, struct ready *r) {
    r->next = NULL;
    *w->end = r;
    w->end = &r->next;
    wake(w);
}

static struct ready *pop(struct worker *w) {
    struct ready *r = w->first;

    w->first = r->next;
    if (!w->first)
        w->end = &w->first;
    return r;
}

/* Fibers. */

/* Leaves a fiber for the worker's loop. Returns when the loop resumes the fiber. */
static void leave(struct fiber *self) {
    marl_fiber_swap(&self->context, &self->worker->context);
}

static void body(void *arg) {
    struct fiber *self = arg;
    struct worker *w = self->worker;

    for (;;) {
        quit(w);
        self->function(self, self->arg);
        enter(w);
        move(self, RUNNING, IDLE);
        leave(self);
    }
}

static struct fiber *idle_fiber(struct worker *w) {
    struct fiber *f;

    for (f = w->all; f; f = f->made_before)
        if (f->state == IDLE)
            return f;
    f = allocate(sizeof *f);
    *f = (struct fiber){.worker = w, .state = IDLE, .made_before = w->all};
    f->ready.fiber = f;
    f->stack = allocate(STACK);
    marl_fiber_set_target(&f->context, f->stack, STACK, body, f);
    w->all = f;
    return f;
}

void fiber_yield(struct fiber *self) {
    struct worker *w = self->worker;

    enter(w);
    move(self, RUNNING, QUEUED);
    push(w, &self->ready);
    leave(self);
    quit(w);
}

/* The worker is locked before the caller's lock is unlocked. A thread that changes under that lock
 * what the fiber waits for, and then notifies, has to wait for the worker. So it finds the fiber
 * blocked: no notification is lost. */
bool fiber_wait(struct fiber *self, explore_mutex *lock, unsigned ticks) {
    struct worker *w = self->worker;

    enter(w);
    explore_unlock(lock);
    w->blocked++;
    if (ticks > 0) {
        move(self, RUNNING, WAITING);
        self->deadline = w->now + ticks;
        self->number = w->waits++;
    } else {
        move(self, RUNNING, YIELDED);
    }
    leave(self);

    bool notified = self->notified;

    quit(w);
    explore_lock(lock);
    return notified;
}

static void unblock(struct fiber *f, enum fiber_state from, bool notified) {
    move(f, from, QUEUED);
    f->worker->blocked--;
    f->notified = notified;
    push(f->worker, &f->ready);
}

/* A fiber that is Queued or Running looks again at what it waits for before it blocks. A task that
 * has ended waits for nothing. So for these there is nothing to do. */
void fiber_notify(struct fiber *f) {
    struct worker *w = f->worker;

    enter(w);
    if (f->state == WAITING) {
        unblock(f, WAITING, true);
    } else if (f->state == YIELDED) {
        unblock(f, YIELDED, true);
    }
    quit(w);
}

enum fiber_state fiber_state(struct fiber *f) {
    enter(f->worker);

    enum fiber_state state = f->state;

    quit(f->worker);
    return state;
}

/* The worker. The functions that are not in scheduler.h are called with it locked. */

static void run_next(struct worker *w) {
    struct ready *r = pop(w);
    struct fiber *f = r->fiber;

    if (f) {
        move(f, QUEUED, RUNNING);
    } else {
        f = idle_fiber(w);
        f->function = r->function;
        f->arg = r->arg;
        free(r);
        move(f, IDLE, RUNNING);
    }
    marl_fiber_swap(&w->context, &f->context);
}

/* The fiber whose deadline is the earliest, or null. */
static struct fiber *earliest(struct worker *w) {
    struct fiber *best = NULL;

    for (struct fiber *f = w->all; f; f = f->made_before) {
        if (f->state != WAITING)
            continue;
        if (!best || f->deadline < best->deadline ||
            (f->deadline == best->deadline && f->number < best->number))
            best = f;
    }
    return best;
}

static void expire(struct worker *w, unsigned deadline) {
    struct fiber *f;

    w->now = deadline;
    while ((f = earliest(w)) && f->deadline <= deadline)
        unblock(f, WAITING, false);
}

/* Sleeps once. It may return for no reason. The deadline is noted before: when the sleep ends, its
 * fiber may have been notified, and another one may be the first. */
static void doze(struct worker *w) {
    struct fiber *first = earliest(w);
    unsigned deadline = first ? first->deadline : 0; /* 0: none */
    bool reached = false;

    w->asleep = true;
    quit(w);
    if (deadline)
        reached = !explore_park_until();
    else
        explore_park();
    enter(w);
    w->asleep = false;
    if (reached)
        expire(w, deadline);
}

static void serve(struct worker *w, bool until_idle) {
    enter(w);
    w->thread = explore_self();
    for (;;) {
        while (w->first)
            run_next(w);
        if (until_idle || (w->stopping && w->blocked == 0))
            break;
        doze(w);
    }
    quit(w);
}

struct worker *worker_new(void) {
    struct worker *w = allocate(sizeof *w);

    *w = (struct worker){.end = &w->first, .locked = ATOMIC_FLAG_INIT};
    return w;
}

void worker_enqueue(struct worker *w, task_function *function, void *arg) {
    struct ready *r = allocate(sizeof *r);

    *r = (struct ready){.function = function, .arg = arg};
    enter(w);
    push(w, r);
    quit(w);
}

void worker_run(struct worker *w) {
    serve(w, true);
}

static void thread(void *arg) {
    serve(arg, false);
}

void worker_start(struct worker *w) {
    w->own_thread = explore_start(thread, w);
}

void worker_stop(struct worker *w) {
    enter(w);
    w->stopping = true;
    wake(w);
    quit(w);
    if (w->own_thread)
        explore_join(w->own_thread);
    else
        serve(w, false);
}

void worker_free(struct worker *w) {
    while (w->all) {
        struct fiber *f = w->all;

        w->all = f->made_before;
        free(f->stack);
        free(f);
    }
    free(w);
}

unsigned worker_now(const struct worker *w) {
    return w->now;
}
