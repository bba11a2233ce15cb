/* The fiber that leaves looks for the next one itself, and switches to it directly. If nothing can
 * run, it sleeps on its own stack. The thread's context is entered only when the worker ends. */
#include "scheduler.h"

#include <assert.h>
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
    struct fiber *next; /* in the list of deadlines, or of idle fibers */
    unsigned deadline;
    bool notified; /* how the last wait ended */
    task_function *function;
    void *arg;
    struct fiber *made_before; /* in the list of all */
    void *stack;
};

struct worker {
    explore_mutex mutex;
    struct ready *first, **end; /* the run queue; end is the link behind its last entry */
    struct fiber *waiting;      /* the earliest deadline first */
    struct fiber *idle;
    struct fiber *all;
    struct marl_fiber_context context; /* of the thread that serves, while a fiber runs */
    int thread;                        /* its number */
    int own_thread;                    /* the one that worker_start started, or 0 */
    int blocked;                       /* fibers that are Yielded or Waiting */
    bool asleep, stopping, until_idle;
    unsigned now;
};

static void *allocate(size_t size) {
    void *memory = malloc(size);

    if (!memory)
        abort();
    return memory;
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

static struct fiber *idle_fiber(struct worker *w);

static void unblock(struct fiber *f, enum fiber_state from, bool notified) {
    move(f, from, QUEUED);
    f->worker->blocked--;
    f->notified = notified;
    push(f->worker, &f->ready);
}

static void expire(struct worker *w, unsigned deadline) {
    w->now = deadline;
    while (w->waiting && w->waiting->deadline <= deadline) {
        struct fiber *f = w->waiting;

        w->waiting = f->next;
        unblock(f, WAITING, false);
    }
}

/* Sleeps once. It may return for no reason. The deadline is noted before: when the sleep ends, its
 * fiber may have been notified, and another one may be the first. */
static void doze(struct worker *w) {
    unsigned deadline = w->waiting ? w->waiting->deadline : 0; /* 0: none */
    bool reached = false;

    w->asleep = true;
    explore_unlock(&w->mutex);
    if (deadline)
        reached = !explore_park_until();
    else
        explore_park();
    explore_lock(&w->mutex);
    w->asleep = false;
    if (reached)
        expire(w, deadline);
}

/* The next fiber, which counts as running from now on. */
static struct fiber *take(struct worker *w) {
    struct ready *r = pop(w);
    struct fiber *f = r->fiber;

    if (f) {
        move(f, QUEUED, RUNNING);
        return f;
    }
    f = idle_fiber(w);
    f->function = r->function;
    f->arg = r->arg;
    free(r);
    move(f, IDLE, RUNNING);
    return f;
}

/* Reports whether something can run. If not, the worker has ended. */
static bool find(struct worker *w) {
    while (!w->first) {
        if (w->until_idle || (w->stopping && w->blocked == 0))
            return false;
        doze(w);
    }
    return true;
}

/* Returns when the caller is to run again: perhaps at once. */
static void leave(struct fiber *self) {
    struct worker *w = self->worker;

    if (!find(w)) {
        marl_fiber_swap(&self->context, &w->context);
        return;
    }

    struct fiber *next = take(w);

    if (next != self)
        marl_fiber_swap(&self->context, &next->context);
}

static void body(void *arg) {
    struct fiber *self = arg;
    struct worker *w = self->worker;

    for (;;) {
        explore_unlock(&w->mutex);
        self->function(self, self->arg);
        explore_lock(&w->mutex);
        move(self, RUNNING, IDLE);
        self->next = w->idle;
        w->idle = self;
        leave(self);
    }
}

static struct fiber *idle_fiber(struct worker *w) {
    struct fiber *f = w->idle;

    if (f) {
        w->idle = f->next;
        return f;
    }
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

    explore_lock(&w->mutex);
    move(self, RUNNING, QUEUED);
    push(w, &self->ready);
    leave(self);
    explore_unlock(&w->mutex);
}

static void add_deadline(struct worker *w, struct fiber *f) {
    struct fiber **link = &w->waiting;

    while (*link && (*link)->deadline <= f->deadline)
        link = &(*link)->next;
    f->next = *link;
    *link = f;
}

static void remove_deadline(struct worker *w, struct fiber *f) {
    struct fiber **link = &w->waiting;

    while (*link != f)
        link = &(*link)->next;
    *link = f->next;
}

/* The mutex is locked before the caller's lock is unlocked. A thread that changes under that lock
 * what the fiber waits for, and then notifies, has to wait for the mutex. So it finds the fiber
 * blocked: no notification is lost. */
bool fiber_wait(struct fiber *self, explore_mutex *lock, unsigned ticks) {
    struct worker *w = self->worker;

    explore_lock(&w->mutex);
    explore_unlock(lock);
    w->blocked++;
    if (ticks > 0) {
        move(self, RUNNING, WAITING);
        self->deadline = w->now + ticks;
        add_deadline(w, self);
    } else {
        move(self, RUNNING, YIELDED);
    }
    leave(self);

    bool notified = self->notified;

    explore_unlock(&w->mutex);
    explore_lock(lock);
    return notified;
}

/* A fiber that is Queued or Running looks again at what it waits for before it blocks. A task that
 * has ended waits for nothing. So for these there is nothing to do. */
void fiber_notify(struct fiber *f) {
    struct worker *w = f->worker;

    explore_lock(&w->mutex);
    if (f->state == WAITING) {
        remove_deadline(w, f);
        unblock(f, WAITING, true);
    } else if (f->state == YIELDED) {
        unblock(f, YIELDED, true);
    }
    explore_unlock(&w->mutex);
}

enum fiber_state fiber_state(struct fiber *f) {
    explore_lock(&f->worker->mutex);

    enum fiber_state state = f->state;

    explore_unlock(&f->worker->mutex);
    return state;
}

static void serve(struct worker *w, bool until_idle) {
    explore_lock(&w->mutex);
    w->thread = explore_self();
    w->until_idle = until_idle;
    if (find(w))
        marl_fiber_swap(&w->context, &take(w)->context);
    explore_unlock(&w->mutex);
}

struct worker *worker_new(void) {
    struct worker *w = allocate(sizeof *w);

    *w = (struct worker){.end = &w->first};
    return w;
}

void worker_enqueue(struct worker *w, task_function *function, void *arg) {
    struct ready *r = allocate(sizeof *r);

    *r = (struct ready){.function = function, .arg = arg};
    explore_lock(&w->mutex);
    push(w, r);
    explore_unlock(&w->mutex);
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
    explore_lock(&w->mutex);
    w->stopping = true;
    wake(w);
    explore_unlock(&w->mutex);
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
