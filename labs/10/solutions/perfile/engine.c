/* Each file has a list of its requests, so that closing one is easy. A request is found by its
 * ticket, which counts on, and it is freed when its completion has come.
 *
 * Other threads change one word: the number of their posts and departures. The engine notes it
 * before it looks at the mailbox, and sleeps only if it is still the same: then it says so in the
 * lowest bit of the word. */
#include <errno.h>
#include <explore.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "engine.h"

enum need { NOTHING, TRANSFER, CANCEL }; /* what the kernel has still to be told */

struct request {
    struct request *next; /* of the same file */
    ticket ticket;
    struct work work;
    int done;
    bool with_kernel, cancelled, told;
};

static struct {
    struct request *first;
    bool closing;
} files[FILES];

static int requests;
static ticket count;

static explore_mutex mailbox;
static struct task *first_task, *last_task;
static atomic_int guests;
static atomic_uint news; /* counts by 2; the lowest bit: the engine sleeps */

ticket engine_begin(struct work work) {
    if (requests == REQUESTS || files[work.file].closing) {
        return 0;
    }
    struct request *r = calloc(1, sizeof *r);
    requests++;
    r->ticket = ++count;
    r->work = work;
    r->next = files[work.file].first;
    files[work.file].first = r;
    return r->ticket;
}

static struct request **find(ticket t) {
    for (int file = 0; file < FILES; file++) {
        for (struct request **r = &files[file].first; *r != NULL; r = &(*r)->next) {
            if ((*r)->ticket == t) {
                return r;
            }
        }
    }
    return NULL;
}

void engine_cancel(ticket t) {
    struct request **r = find(t);

    if (r != NULL) {
        (*r)->cancelled = true;
    }
}

static void close_if_unused(int file) {
    if (files[file].closing && files[file].first == NULL) {
        files[file].closing = false;
        ring_close(file);
    }
}

void engine_close(int file) {
    files[file].closing = true;
    for (struct request *r = files[file].first; r != NULL; r = r->next) {
        r->cancelled = true;
    }
    close_if_unused(file);
}

static void end(struct request **at, int result) {
    struct request r = **at;

    free(*at);
    *at = r.next;
    requests--;
    r.work.over(r.work.arg, r.done > 0 ? r.done : result);
    close_if_unused(r.work.file);
}

static enum need need_of(const struct request *r) {
    if (r->with_kernel) {
        return r->cancelled && !r->told ? CANCEL : NOTHING;
    }
    return TRANSFER;
}

/* The oldest request that needs something; NULL: none does. */
static struct request **neediest(void) {
    struct request **oldest = NULL;

    for (int file = 0; file < FILES && requests > 0; file++) {
        for (struct request **r = &files[file].first; *r != NULL; r = &(*r)->next) {
            if (need_of(*r) != NOTHING && (oldest == NULL || (*r)->ticket < (*oldest)->ticket)) {
                oldest = r;
            }
        }
    }
    return oldest;
}

/* Does one thing for that request. Returns false if the queue is full. */
static bool serve(struct request **at) {
    struct request *r = *at;
    struct ring_entry entry = {.operation = RING_CANCEL, .buffer = r->ticket};

    if (need_of(r) == TRANSFER) {
        if (r->cancelled) {
            end(at, -ECANCELED);
            return true;
        }
        entry.operation = (uint8_t)r->work.operation;
        entry.number = r->ticket;
        entry.file = r->work.file;
        entry.buffer = (uintptr_t)r->work.buffer + (unsigned)r->done;
        entry.length = r->work.length - (unsigned)r->done;
        entry.offset = r->work.offset;
        if (r->work.operation != RING_SEND) {
            entry.offset += (unsigned)r->done;
        }
    }
    if (!queue_push(&entry)) {
        return false;
    }
    r->told = r->with_kernel;
    r->with_kernel = true;
    return true;
}

static void handle(const struct ring_completion *c) {
    struct request **at = c->number == 0 ? NULL : find(c->number);

    if (at == NULL) {
        return;
    }
    struct request *r = *at;
    bool transfers = r->work.operation == RING_READ || r->work.operation == RING_WRITE ||
                     r->work.operation == RING_SEND;
    r->with_kernel = r->told = false;
    if (c->result == -EINTR || c->result == -EAGAIN) {
        return; /* it is served again */
    }
    if (transfers && c->result > 0) {
        r->done += c->result;
        if ((unsigned)r->done < r->work.length) {
            return;
        }
    }
    end(at, c->result);
}

static struct task *next_task(void) {
    explore_lock(&mailbox);
    struct task *task = first_task;
    if (task != NULL) {
        first_task = task->next;
    }
    explore_unlock(&mailbox);
    return task;
}

void engine_run(void) {
    for (;;) {
        unsigned seen = atomic_load(&news);
        bool guest = atomic_load(&guests) > 0, full = false;
        struct task *task;
        struct request **r;
        struct ring_completion c;

        while ((task = next_task()) != NULL) {
            task->run(task);
        }
        while (!full && (r = neediest()) != NULL) {
            full = !serve(r);
        }
        bool same = atomic_load(&news) == seen;
        if (same && !guest && requests == 0) {
            return;
        }
        same = same && !full && atomic_compare_exchange_strong(&news, &seen, seen | 1);
        ring_enter(queue_waiting(), same);
        atomic_fetch_and(&news, ~1u);
        while (queue_pop(&c)) {
            handle(&c);
        }
    }
}

/* Says that there is something new, and wakes the engine if it sleeps. */
static void tell(void) {
    if (atomic_fetch_add(&news, 2) & 1) {
        ring_wake();
    }
}

void engine_post(struct task *task) {
    task->next = NULL;
    explore_lock(&mailbox);
    if (first_task == NULL) {
        first_task = task;
    } else {
        last_task->next = task;
    }
    last_task = task;
    explore_unlock(&mailbox);
    tell();
}

void engine_arrive(void) {
    atomic_fetch_add(&guests, 1);
}

void engine_leave(void) {
    atomic_fetch_sub(&guests, 1);
    tell();
}
