/* No lock. The run queue, the deadlines and the idle fibers belong to the thread that serves. All
 * that can run goes to a mailbox first, a stack that others push to by compare-and-swap. A state is
 * an atomic variable: who changes Yielded or Waiting to Queued posts the fiber. */
#include "scheduler.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "context.h"

enum { STACK = 16 << 10 };

struct item {
    struct item *next;
    struct fiber *fiber; /* null for a task, which has: */
    task_function *function;
    void *arg;
};

struct fiber {
    struct item item;
    struct marl_fiber_context context;
    struct worker *worker;
    _Atomic enum fiber_state state;
    struct fiber *next;
    unsigned deadline; /* 0: none */
    bool timed_out;
    task_function *function;
    void *arg;
    struct fiber *others;
    void *stack;
};

struct worker {
    struct item *_Atomic mailbox; /* the newest first */
    atomic_bool asleep, stopping;
    atomic_int thread; /* that serves */
    /* Of the thread that serves: */
    struct item *first, **end;
    struct fiber *waiting, *idle, *all;
    struct marl_fiber_context context;
    int blocked, started;
    unsigned now;
};

static void change(struct fiber *f, enum fiber_state from, enum fiber_state to) {
    bool legal = atomic_compare_exchange_strong_explicit(&f->state, &from, to, memory_order_release,
                                                         memory_order_relaxed);

    assert(legal);
    (void)legal;
}

/* The worker says that it sleeps, then looks into the mailbox; others push, then look whether it
 * sleeps. All four are seq_cst: one of the two sees the other. */
static void wake(struct worker *w) {
    if (atomic_exchange(&w->asleep, false))
        explore_unpark(atomic_load_explicit(&w->thread, memory_order_relaxed));
}

static void post(struct worker *w, struct item *item) {
    item->next = atomic_load_explicit(&w->mailbox, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(&w->mailbox, &item->next, item))
        ;
    wake(w);
}

/* Moves all of the mailbox to the run queue, the oldest first. */
static void fetch(struct worker *w) {
    struct item *newest = atomic_exchange_explicit(&w->mailbox, NULL, memory_order_acquire);
    struct item *oldest = NULL;

    while (newest) {
        struct item *next = newest->next;

        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    if (!oldest)
        return;
    *w->end = oldest;
    while (oldest->next)
        oldest = oldest->next;
    w->end = &oldest->next;
}

static void leave(struct fiber *self) {
    marl_fiber_swap(&self->context, &self->worker->context);
}

static void body(void *arg) {
    struct fiber *self = arg;

    for (;;) {
        self->function(self, self->arg);
        self->next = self->worker->idle;
        self->worker->idle = self;
        change(self, RUNNING, IDLE);
        leave(self);
    }
}

static struct fiber *make(struct worker *w) {
    struct fiber *f = malloc(sizeof *f);

    if (!f)
        abort();
    *f = (struct fiber){.worker = w, .others = w->all, .stack = malloc(STACK)};
    if (!f->stack)
        abort();
    f->item.fiber = f;
    atomic_init(&f->state, IDLE);
    marl_fiber_set_target(&f->context, f->stack, STACK, body, f);
    w->all = f;
    return f;
}

static void forget_deadline(struct fiber *f) {
    struct fiber **link = &f->worker->waiting;

    while (*link && *link != f)
        link = &(*link)->next;
    if (*link)
        *link = f->next;
}

/* Runs what is in the run queue first. */
static void run_first(struct worker *w) {
    struct item *item = w->first;
    struct fiber *f = item->fiber;

    w->first = item->next;
    if (!w->first)
        w->end = &w->first;
    if (!f) {
        f = w->idle;
        if (f)
            w->idle = f->next;
        else
            f = make(w);
        f->function = item->function;
        f->arg = item->arg;
        free(item);
        change(f, IDLE, RUNNING);
    } else {
        change(f, QUEUED, RUNNING);
    }
    marl_fiber_swap(&w->context, &f->context);
}

static bool finished(struct worker *w) {
    return atomic_load(&w->stopping) && w->blocked == 0;
}

/* Sleeps once, unless something is in the mailbox. */
static void sleep_once(struct worker *w) {
    unsigned deadline = w->waiting ? w->waiting->deadline : 0;
    bool reached = false;

    atomic_store(&w->asleep, true);
    if (!atomic_load(&w->mailbox) && !finished(w)) {
        if (deadline)
            reached = !explore_park_until();
        else
            explore_park();
    }
    atomic_store_explicit(&w->asleep, false, memory_order_relaxed);
    if (!reached)
        return;
    w->now = deadline;
    while (w->waiting && w->waiting->deadline <= deadline) {
        struct fiber *f = w->waiting;
        enum fiber_state state = WAITING;

        w->waiting = f->next;
        if (atomic_compare_exchange_strong(&f->state, &state, QUEUED)) {
            f->timed_out = true;
            post(w, &f->item);
        }
    }
}

static void serve(struct worker *w, bool until_idle) {
    atomic_store_explicit(&w->thread, explore_self(), memory_order_relaxed);
    for (;;) {
        /* It asks before it looks: so it sees each message that was posted before worker_stop. */
        bool end = until_idle || finished(w);

        fetch(w);
        if (w->first)
            run_first(w);
        else if (end)
            return;
        else
            sleep_once(w);
    }
}

struct worker *worker_new(void) {
    struct worker *w = malloc(sizeof *w);

    if (!w)
        abort();
    *w = (struct worker){.end = &w->first};
    return w;
}

void worker_enqueue(struct worker *w, task_function *function, void *arg) {
    struct item *item = malloc(sizeof *item);

    if (!item)
        abort();
    *item = (struct item){.function = function, .arg = arg};
    post(w, item);
}

void worker_run(struct worker *w) {
    serve(w, true);
}

static void run_thread(void *arg) {
    serve(arg, false);
}

void worker_start(struct worker *w) {
    w->started = explore_start(run_thread, w);
}

void worker_stop(struct worker *w) {
    atomic_store(&w->stopping, true);
    wake(w);
    if (w->started)
        explore_join(w->started);
    else
        serve(w, false);
}

void worker_free(struct worker *w) {
    while (w->all) {
        struct fiber *f = w->all;

        w->all = f->others;
        free(f->stack);
        free(f);
    }
    free(w);
}

unsigned worker_now(const struct worker *w) {
    return w->now;
}

void fiber_yield(struct fiber *self) {
    change(self, RUNNING, QUEUED);
    post(self->worker, &self->item);
    leave(self);
}

/* The fiber says that it is blocked before it unlocks. If it is notified at once, it is in the
 * mailbox while it still runs, but the thread that empties the mailbox is this one. */
bool fiber_wait(struct fiber *self, explore_mutex *lock, unsigned ticks) {
    struct worker *w = self->worker;

    w->blocked++;
    self->timed_out = false;
    if (ticks) {
        struct fiber **link = &w->waiting;

        self->deadline = w->now + ticks;
        while (*link && (*link)->deadline <= self->deadline)
            link = &(*link)->next;
        self->next = *link;
        *link = self;
    }
    change(self, RUNNING, ticks ? WAITING : YIELDED);
    explore_unlock(lock);
    leave(self);
    w->blocked--;
    if (ticks)
        forget_deadline(self);
    explore_lock(lock);
    return !self->timed_out;
}

void fiber_notify(struct fiber *f) {
    enum fiber_state state = atomic_load_explicit(&f->state, memory_order_relaxed);

    while (state == YIELDED || state == WAITING) {
        if (atomic_compare_exchange_weak_explicit(&f->state, &state, QUEUED, memory_order_acquire,
                                                  memory_order_relaxed)) {
            post(f->worker, &f->item);
            return;
        }
    }
}

enum fiber_state fiber_state(struct fiber *f) {
    return atomic_load_explicit(&f->state, memory_order_relaxed);
}
