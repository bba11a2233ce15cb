/* An engine: a table of requests, each of which is in one of three states.
 *
 *               engine_begin             flush: into the submission queue
 *     FREE ────────────────► STAGED ──────────────────────────────────► RUNNING
 *       ▲                      │  ▲                                        │
 *       │ cancelled            │  │ EINTR, EAGAIN, a part was transferred  │
 *       ├──────────────────────┘  └────────────────────────────────────────┤
 *       └──────────────────────────────────────────────────────────────────┘
 *                          a completion: the request is over
 *
 * While a request is RUNNING, the kernel may write to its buffer. So nothing ends it but its own
 * completion. */
#include <errno.h>
#include <explore.h>
#include <stddef.h>

#include "engine.h"

enum state { FREE, STAGED, RUNNING };

struct request {
    enum state state;
    bool cancelled;
    bool told; /* the kernel was, that it is cancelled */
    unsigned done;
    uint64_t use; /* how often this place of the table was used */
    struct work work;
};

static struct request requests[REQUESTS];
static bool closing[FILES];

/* for (each_request(r)) has r point to each place of the table. */
#define each_request(r)                                                                            \
    struct request *r = requests;                                                                  \
    r < requests + REQUESTS;                                                                       \
    r++

/* The mailbox, and who may put something into it. All under lock. */
static explore_mutex lock;
static struct task *oldest, **end = &oldest; /* *end is NULL */
static int guests;
static bool asleep; /* the engine waits in the ring, or is about to, or has just done so */

static ticket ticket_of(const struct request *r) {
    return r->use * REQUESTS + (ticket)(r - requests) + 1;
}

/* The request of that ticket, or NULL if it is over. */
static struct request *find(ticket t) {
    struct request *r = &requests[(t - 1) % REQUESTS];

    return r->state != FREE && ticket_of(r) == t ? r : NULL;
}

/* Reports whether a request of that file is under way. */
static bool busy(int file) {
    for (each_request(r)) {
        if (r->state != FREE && r->work.file == file) {
            return true;
        }
    }
    return false;
}

ticket engine_begin(struct work work) {
    if (closing[work.file]) {
        return 0;
    }
    for (each_request(r)) {
        if (r->state == FREE) {
            *r = (struct request){.state = STAGED, .use = r->use + 1, .work = work};
            return ticket_of(r);
        }
    }
    return 0;
}

void engine_cancel(ticket t) {
    struct request *r = find(t);

    if (r != NULL) {
        r->cancelled = true;
    }
}

void engine_close(int file) {
    if (!busy(file)) {
        ring_close(file);
        return;
    }
    closing[file] = true;
    for (each_request(r)) {
        if (r->work.file == file) {
            r->cancelled = true;
        }
    }
}

/* Ends a request. result is the last one of the kernel. */
static void finish(struct request *r, int result) {
    struct work work = r->work;
    unsigned done = r->done;

    r->state = FREE;
    if (closing[work.file] && !busy(work.file)) {
        closing[work.file] = false;
        ring_close(work.file);
    }
    work.over(work.arg, done > 0 ? (int)done : result);
}

/* Handles a completion. The completion of a cancel has the number 0, and finds no request. */
static void complete(struct ring_completion c) {
    struct request *r = find(c.number);

    if (r == NULL) {
        return;
    }
    bool again = c.result == -EINTR || c.result == -EAGAIN;
    if (c.result > 0 && r->work.operation != RING_RECEIVE) {
        r->done += (unsigned)c.result;
        again = r->done < r->work.length; /* which is 0 for RING_ACCEPT */
    }
    if (!again) {
        finish(r, c.result);
        return;
    }
    r->state = STAGED;
}

static bool push(const struct request *r) {
    struct ring_entry entry = {
        .operation = (uint8_t)r->work.operation,
        .file = r->work.file,
        .offset = r->work.offset,
        .buffer = (uintptr_t)r->work.buffer + r->done,
        .length = r->work.length - r->done,
        .number = ticket_of(r),
    };
    if (r->work.operation == RING_READ || r->work.operation == RING_WRITE) {
        entry.offset += r->done; /* a connection has no offset */
    }
    return queue_push(&entry);
}

static bool push_cancel(const struct request *r) {
    struct ring_entry entry = {.operation = RING_CANCEL, .buffer = ticket_of(r)};

    return queue_push(&entry);
}

/* Reports whether there is something about the request that the kernel has still to be told. */
static bool behind(const struct request *r) {
    return r->state == STAGED || (r->state == RUNNING && r->cancelled && !r->told);
}

/* Tells the kernel as much of it as the queue has room for. */
static void flush(void) {
    for (each_request(r)) {
        if (r->state == STAGED && r->cancelled) { /* the kernel has no part in it */
            finish(r, -ECANCELED);
        } else if (r->state == STAGED && push(r)) {
            r->state = RUNNING;
        } else if (r->state == RUNNING && behind(r)) {
            r->told = push_cancel(r);
        }
    }
}

/* Runs the tasks that are posted. */
static void run_tasks(void) {
    explore_lock(&lock);
    while (oldest != NULL) {
        struct task *task = oldest;
        oldest = task->next;
        if (oldest == NULL) {
            end = &oldest;
        }
        explore_unlock(&lock);
        task->run(task);
        explore_lock(&lock);
    }
    explore_unlock(&lock);
}

void engine_run(void) {
    for (;;) {
        run_tasks();
        flush();
        bool idle = true, all = true;
        for (each_request(r)) {
            idle = idle && r->state == FREE;
            all = all && !behind(r);
        }
        explore_lock(&lock);
        if (idle && oldest == NULL && guests == 0) {
            explore_unlock(&lock);
            return;
        }
        /* What the queue had no room for goes with the next round, and must not wait for a
         * completion. */
        bool sleep = all && oldest == NULL;
        asleep = sleep;
        explore_unlock(&lock);
        /* What the kernel does not take now, it takes in the next round. */
        (void)ring_enter(queue_waiting(), sleep);
        struct ring_completion c;
        while (queue_pop(&c)) {
            complete(c);
        }
    }
}

/* Ends the sleep of the engine. The caller has the lock. */
static void wake(void) {
    if (asleep) {
        asleep = false;
        ring_wake();
    }
}

void engine_post(struct task *task) {
    explore_lock(&lock);
    task->next = NULL;
    *end = task;
    end = &task->next;
    wake();
    explore_unlock(&lock);
}

void engine_arrive(void) {
    explore_lock(&lock);
    guests++;
    explore_unlock(&lock);
}

void engine_leave(void) {
    explore_lock(&lock);
    guests--;
    if (guests == 0) {
        wake();
    }
    explore_unlock(&lock);
}
