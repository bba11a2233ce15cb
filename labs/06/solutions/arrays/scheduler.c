/* Arrays instead of lists: a ring for the run queue, a heap for the deadlines, a stack for the idle
 * fibers. A task that is queued is a fiber number of -1 in the ring. A state is changed in one
 * place, by a table of the transitions that are legal. */
#include "scheduler.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"

enum { STACK = 12 << 10, FIRST_ROOM = 2 };

struct entry {
    struct fiber *fiber;
    task_function *function;
    void *arg;
};

struct timer {
    struct fiber *fiber;
    unsigned deadline, number;
};

struct fiber {
    struct marl_fiber_context context;
    struct worker *worker;
    enum fiber_state state;
    bool timed_out;
    struct entry task;
    char *stack;
};

struct worker {
    explore_mutex mutex;
    struct entry *ring;
    size_t head, length, room; /* room is a power of two */
    struct timer *heap;
    size_t timers, heap_room;
    struct fiber **fibers, **idle; /* both have room for all */
    size_t made, idles, fiber_room;
    struct marl_fiber_context context;
    int sleeper; /* the thread that sleeps, or -1 */
    int thread;  /* that worker_start started, or -1 */
    size_t blocked;
    bool ends;
    unsigned clock, waits;
};

static const unsigned char legal[] = {
    [IDLE] = 1 << RUNNING,
    [YIELDED] = 1 << QUEUED,
    [WAITING] = 1 << QUEUED,
    [QUEUED] = 1 << RUNNING,
    [RUNNING] = 1 << IDLE | 1 << YIELDED | 1 << WAITING | 1 << QUEUED,
};

static void become(struct fiber *f, enum fiber_state state) {
    assert(legal[f->state] >> state & 1);
    f->state = state;
}

/* An array of twice the room, with what the old one had. */
static void *larger(void *old, size_t *room, size_t size) {
    size_t more = *room ? 2 * *room : FIRST_ROOM;
    char *array = malloc(more * size);

    if (!array)
        abort();
    if (*room)
        memcpy(array, old, *room * size);
    free(old);
    *room = more;
    return array;
}

static void add(struct worker *w, struct entry e) {
    if (w->length == w->room) {
        size_t old = w->room;

        w->ring = larger(w->ring, &w->room, sizeof *w->ring);
        /* What had wrapped around goes behind the old end. */
        for (size_t i = 0; i < w->head; i++)
            w->ring[old + i] = w->ring[i];
    }
    w->ring[(w->head + w->length++) & (w->room - 1)] = e;
    if (w->sleeper >= 0)
        explore_unpark(w->sleeper);
}

static struct entry take(struct worker *w) {
    struct entry e = w->ring[w->head];

    w->head = (w->head + 1) & (w->room - 1);
    w->length--;
    return e;
}

static bool before(const struct timer *a, const struct timer *b) {
    return a->deadline != b->deadline ? a->deadline < b->deadline : a->number < b->number;
}

static void exchange(struct timer *a, struct timer *b) {
    struct timer t = *a;

    *a = *b;
    *b = t;
}

static void rise(struct worker *w, size_t i) {
    for (; i > 0 && before(&w->heap[i], &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
        exchange(&w->heap[i], &w->heap[(i - 1) / 2]);
}

static void sink(struct worker *w, size_t i) {
    for (;;) {
        size_t least = i;

        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < w->timers; child++)
            if (before(&w->heap[child], &w->heap[least]))
                least = child;
        if (least == i)
            return;
        exchange(&w->heap[i], &w->heap[least]);
        i = least;
    }
}

static void forget(struct worker *w, size_t i) {
    w->heap[i] = w->heap[--w->timers];
    if (i < w->timers) {
        rise(w, i);
        sink(w, i);
    }
}

static void go_on(struct fiber *f, bool timed_out) {
    become(f, QUEUED);
    f->timed_out = timed_out;
    f->worker->blocked--;
    add(f->worker, (struct entry){.fiber = f});
}

static void stop(struct fiber *self, enum fiber_state state) {
    become(self, state);
    marl_fiber_swap(&self->context, &self->worker->context);
}

static void body(void *arg) {
    struct fiber *self = arg;
    struct worker *w = self->worker;

    for (;;) {
        explore_unlock(&w->mutex);
        self->task.function(self, self->task.arg);
        explore_lock(&w->mutex);
        w->idle[w->idles++] = self;
        stop(self, IDLE);
    }
}

static struct fiber *fiber_for(struct worker *w, struct entry task) {
    if (w->idles == 0) {
        struct fiber *f = malloc(sizeof *f);
        char *stack = malloc(STACK);

        if (!f || !stack)
            abort();
        *f = (struct fiber){.worker = w, .state = IDLE, .stack = stack};
        marl_fiber_set_target(&f->context, stack, STACK, body, f);
        if (w->made == w->fiber_room) {
            size_t room = w->fiber_room;

            w->fibers = larger(w->fibers, &room, sizeof(struct fiber *));
            w->idle = larger(w->idle, &w->fiber_room, sizeof(struct fiber *));
        }
        w->fibers[w->made++] = f;
        w->idle[w->idles++] = f;
    }

    struct fiber *f = w->idle[--w->idles];

    f->task = task;
    return f;
}

static void run_all(struct worker *w) {
    while (w->length > 0) {
        struct entry e = take(w);
        struct fiber *f = e.fiber ? e.fiber : fiber_for(w, e);

        become(f, RUNNING);
        marl_fiber_swap(&w->context, &f->context);
    }
}

static void nap(struct worker *w) {
    bool timed = w->timers > 0, rang = false;
    unsigned alarm = timed ? w->heap[0].deadline : 0;

    w->sleeper = explore_self();
    explore_unlock(&w->mutex);
    if (timed)
        rang = !explore_park_until();
    else
        explore_park();
    explore_lock(&w->mutex);
    w->sleeper = -1;
    if (!rang)
        return;
    w->clock = alarm;
    while (w->timers > 0 && w->heap[0].deadline <= alarm) {
        struct fiber *f = w->heap[0].fiber;

        forget(w, 0);
        go_on(f, true);
    }
}

static void run_to_the_end(void *arg) {
    struct worker *w = arg;

    explore_lock(&w->mutex);
    run_all(w);
    while (!w->ends || w->blocked > 0) {
        nap(w);
        run_all(w);
    }
    explore_unlock(&w->mutex);
}

struct worker *worker_new(void) {
    struct worker *w = calloc(1, sizeof *w);

    if (!w)
        abort();
    w->sleeper = -1;
    w->thread = -1;
    return w;
}

void worker_enqueue(struct worker *w, task_function *function, void *arg) {
    explore_lock(&w->mutex);
    add(w, (struct entry){.function = function, .arg = arg});
    explore_unlock(&w->mutex);
}

void worker_run(struct worker *w) {
    explore_lock(&w->mutex);
    run_all(w);
    explore_unlock(&w->mutex);
}

void worker_start(struct worker *w) {
    w->thread = explore_start(run_to_the_end, w);
}

void worker_stop(struct worker *w) {
    explore_lock(&w->mutex);
    w->ends = true;
    if (w->sleeper >= 0)
        explore_unpark(w->sleeper);
    explore_unlock(&w->mutex);
    if (w->thread >= 0)
        explore_join(w->thread);
    else
        run_to_the_end(w);
}

void worker_free(struct worker *w) {
    for (size_t i = 0; i < w->made; i++) {
        free(w->fibers[i]->stack);
        free(w->fibers[i]);
    }
    free(w->fibers);
    free(w->idle);
    free(w->heap);
    free(w->ring);
    free(w);
}

unsigned worker_now(const struct worker *w) {
    return w->clock;
}

void fiber_yield(struct fiber *self) {
    struct worker *w = self->worker;

    explore_lock(&w->mutex);
    add(w, (struct entry){.fiber = self});
    stop(self, QUEUED);
    explore_unlock(&w->mutex);
}

bool fiber_wait(struct fiber *self, explore_mutex *lock, unsigned ticks) {
    struct worker *w = self->worker;

    explore_lock(&w->mutex);
    w->blocked++;
    explore_unlock(lock);
    if (ticks > 0) {
        if (w->timers == w->heap_room)
            w->heap = larger(w->heap, &w->heap_room, sizeof *w->heap);
        w->heap[w->timers] =
            (struct timer){.fiber = self, .deadline = w->clock + ticks, .number = w->waits++};
        rise(w, w->timers++);
    }
    stop(self, ticks > 0 ? WAITING : YIELDED);

    bool timed_out = self->timed_out;

    explore_unlock(&w->mutex);
    explore_lock(lock);
    return !timed_out;
}

void fiber_notify(struct fiber *f) {
    struct worker *w = f->worker;

    explore_lock(&w->mutex);
    if (f->state == WAITING) {
        size_t i = 0;

        while (w->heap[i].fiber != f)
            i++;
        forget(w, i);
    }
    if (f->state == WAITING || f->state == YIELDED)
        go_on(f, false);
    explore_unlock(&w->mutex);
}

enum fiber_state fiber_state(struct fiber *f) {
    explore_lock(&f->worker->mutex);

    enum fiber_state state = f->state;

    explore_unlock(&f->worker->mutex);
    return state;
}
