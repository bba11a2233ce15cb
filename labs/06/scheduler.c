/* The five states: your work. Sections are parts of handout.md.
 *
 * What is here already: the structures, the run queue, and how fibers are made and freed. You may
 * change all of it. No function locks anything yet: until section 6.6 there is one thread. */
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
    struct ready ready; /* its entry in the run queue */
    struct marl_fiber_context context;
    struct worker *worker;
    enum fiber_state state;
    struct fiber *next; /* in the list of idle fibers */
    task_function *function;
    void *arg;
    struct fiber *made_before; /* in the list of all */
    void *stack;
};

struct worker {
    struct ready *first, **end; /* the run queue; end is the link behind its last entry */
    struct fiber *idle;
    struct fiber *all;
    struct marl_fiber_context context; /* of the thread that serves, while a fiber runs */
};

/* Ends the schedule: a function that does nothing yet. */
static void unwritten(const char *claim) {
    explore_check(false, claim);
}

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

static void push(struct worker *w, struct ready *r) {
    r->next = NULL;
    *w->end = r;
    w->end = &r->next;
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

/* Where a new fiber begins. It runs one task after the other and must not return. */
static void body(void *arg) {
    struct fiber *self = arg;

    for (;;) {
        unwritten("body is written (6.3)");
        leave(self);
    }
}

/* An idle fiber, or a new one. */
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
    (void)self;
    unwritten("fiber_yield is written (6.4)");
}

bool fiber_wait(struct fiber *self, explore_mutex *lock, unsigned ticks) {
    (void)self;
    (void)lock;
    (void)ticks;
    unwritten("fiber_wait is written (6.5)");
    return false;
}

void fiber_notify(struct fiber *f) {
    (void)f;
    unwritten("fiber_notify is written (6.5)");
}

enum fiber_state fiber_state(struct fiber *f) {
    return f->state;
}

/* The worker. */

/* Takes the first entry of the run queue, and runs a fiber until it leaves. */
static void run_next(struct worker *w) {
    (void)pop;
    (void)move;
    (void)idle_fiber;
    (void)w;
    unwritten("run_next is written (6.3)");
}

/* Runs what can run, until nothing can. */
static void serve(struct worker *w) {
    while (w->first)
        run_next(w);
}

struct worker *worker_new(void) {
    struct worker *w = allocate(sizeof *w);

    *w = (struct worker){.end = &w->first};
    return w;
}

void worker_enqueue(struct worker *w, task_function *function, void *arg) {
    (void)push;
    (void)w;
    (void)function;
    (void)arg;
    unwritten("worker_enqueue is written (6.3)");
}

void worker_run(struct worker *w) {
    serve(w);
}

void worker_start(struct worker *w) {
    (void)w;
    unwritten("worker_start is written (6.7)");
}

void worker_stop(struct worker *w) {
    serve(w); /* section 6.7: it returns too early */
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
    (void)w;
    return 0; /* section 6.8 */
}
