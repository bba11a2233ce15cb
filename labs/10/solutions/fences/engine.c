/* No mutex: the mailbox is a stack that threads push to, and that the engine takes as a whole. One
 * word says whether the engine sleeps, and fences order it with the mailbox and the guests.
 *
 * A place of the table has a state more than the reference: a request whose cancel the kernel has.
 * Counters say how many requests are in which state, as the stop rule wants to know. */
#include <errno.h>
#include <explore.h>
#include <stdatomic.h>
#include <stddef.h>

#include "engine.h"

enum state { FREE, STAGED, RUNNING, CANCELLING };

static struct place {
    enum state state;
    bool end; /* it is to end, and not to be tried again */
    struct work work;
    char *at; /* the rest of the buffer */
    unsigned rest;
    uint32_t generation;
} places[REQUESTS];

static int staged, submitted; /* requests; cancels are not counted */
static int cancelling;        /* cancels that are not handed over */
static int of_file[FILES];
static bool closing[FILES];

static struct task *_Atomic mailbox;
static atomic_int guests, sleeping;

static uint64_t number(const struct place *p) {
    return (uint64_t)p->generation << 32 | (uint64_t)(p - places + 1);
}

static struct place *named(uint64_t n) {
    uint32_t slot = (uint32_t)n;

    if (slot < 1 || slot > REQUESTS || places[slot - 1].generation != n >> 32 ||
        places[slot - 1].state == FREE) {
        return NULL;
    }
    return &places[slot - 1];
}

ticket engine_begin(struct work work) {
    struct place *p = places;

    while (p < places + REQUESTS && p->state != FREE) {
        p++;
    }
    if (p == places + REQUESTS || closing[work.file]) {
        return 0;
    }
    p->state = STAGED;
    p->work = work;
    p->at = work.buffer;
    p->rest = work.length;
    p->end = false;
    staged++;
    of_file[work.file]++;
    return number(p);
}

void engine_cancel(ticket t) {
    struct place *p = named(t);

    if (p != NULL && !p->end) {
        p->end = true;
        cancelling += p->state == RUNNING;
    }
}

void engine_close(int file) {
    if (of_file[file] == 0) {
        ring_close(file);
        return;
    }
    closing[file] = true;
    for (struct place *p = places; p < places + REQUESTS; p++) {
        if (p->state != FREE && p->work.file == file) {
            engine_cancel(number(p));
        }
    }
}

static void over(struct place *p, int result) {
    struct work work = p->work;
    ptrdiff_t done = p->at - (char *)work.buffer;

    p->state = FREE;
    p->generation++;
    if (--of_file[work.file] == 0 && closing[work.file]) {
        closing[work.file] = false;
        ring_close(work.file);
    }
    work.over(work.arg, done > 0 ? (int)done : result);
}

static void stage_again(struct place *p) {
    p->state = STAGED;
    staged++;
}

static void completed(struct place *p, int result) {
    bool brings = p->work.operation == RING_RECEIVE || p->work.operation == RING_ACCEPT;

    cancelling -= p->state == RUNNING && p->end;
    p->state = STAGED;
    submitted--;
    if (result > 0 && !brings) {
        p->at += result;
        p->rest -= (unsigned)result;
    }
    bool more = result == -EINTR || result == -EAGAIN || (result > 0 && !brings && p->rest > 0);
    if (more && !p->end) {
        stage_again(p);
    } else {
        over(p, more ? -ECANCELED : result);
    }
}

static void hand_over(struct place *p) {
    struct ring_entry entry = {.number = number(p)};

    entry.operation = (uint8_t)p->work.operation;
    entry.file = p->work.file;
    entry.buffer = (uintptr_t)p->at;
    entry.length = p->rest;
    if (p->work.operation != RING_SEND && p->at != NULL) {
        entry.offset = p->work.offset + (p->work.length - p->rest);
    }
    if (queue_push(&entry)) {
        p->state = RUNNING;
        staged--;
        submitted++;
    }
}

static void submit(void) {
    for (struct place *p = places; p < places + REQUESTS; p++) {
        if (p->state == STAGED && p->end) {
            staged--;
            over(p, -ECANCELED);
        } else if (p->state == STAGED) {
            hand_over(p);
        } else if (p->state == RUNNING && p->end) {
            struct ring_entry entry = {
                .operation = RING_CANCEL, .buffer = number(p), .number = UINT64_MAX};
            if (queue_push(&entry)) {
                p->state = CANCELLING;
                cancelling--;
            }
        }
    }
}

/* Runs the posted tasks, the oldest first. Returns false if there are none. */
static bool run_tasks(void) {
    struct task *newest = atomic_exchange_explicit(&mailbox, NULL, memory_order_acquire);
    struct task *oldest = NULL;
    bool some = newest != NULL;

    while (newest != NULL) {
        struct task *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    while (oldest != NULL) {
        struct task *t = oldest;
        oldest = t->next;
        t->run(t);
    }
    return some;
}

void engine_run(void) {
    for (;;) {
        bool some = run_tasks();
        submit();
        bool may_sleep = !some && staged == 0 && cancelling == 0;
        bool wait = false;
        if (may_sleep) {
            atomic_store_explicit(&sleeping, 1, memory_order_relaxed);
            atomic_thread_fence(memory_order_seq_cst);
            /* A guest posts before it leaves, so it is looked at first. */
            bool alone = atomic_load_explicit(&guests, memory_order_acquire) == 0;
            wait = atomic_load_explicit(&mailbox, memory_order_relaxed) == NULL;
            if (alone && wait && submitted == 0) {
                atomic_store_explicit(&sleeping, 0, memory_order_relaxed);
                return;
            }
            wait = wait && !(alone && submitted == 0);
        }
        ring_enter(queue_waiting(), wait);
        atomic_store_explicit(&sleeping, 0, memory_order_relaxed);
        struct ring_completion c;
        while (queue_pop(&c)) {
            struct place *p = named(c.number);
            if (p != NULL) {
                completed(p, c.result);
            }
        }
    }
}

static void wake(void) {
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&sleeping, memory_order_relaxed)) {
        ring_wake();
    }
}

void engine_post(struct task *task) {
    struct task *head = atomic_load_explicit(&mailbox, memory_order_relaxed);

    do {
        task->next = head;
    } while (!atomic_compare_exchange_weak_explicit(&mailbox, &head, task, memory_order_release,
                                                    memory_order_relaxed));
    wake();
}

void engine_arrive(void) {
    atomic_fetch_add_explicit(&guests, 1, memory_order_relaxed);
}

void engine_leave(void) {
    if (atomic_fetch_sub_explicit(&guests, 1, memory_order_acq_rel) == 1) {
        wake();
    }
}
