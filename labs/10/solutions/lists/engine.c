/* Tickets count on, and each request is in one of two lists: those that the kernel has, and those
 * that wait to be handed over, the oldest first. Cancels are in a list of tickets of their own.
 *
 * The mailbox is under a mutex. Whether the engine sleeps is an atomic word: a thread posts, then
 * looks at it; the engine writes it, then looks at the mailbox. */
#include <errno.h>
#include <explore.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "engine.h"

struct request {
    struct request *next;
    struct work work;
    ticket ticket;
    unsigned done;
    bool cancelled;
};

static struct request *waiting, *running;
static int count;
static ticket last;
static ticket cancels[64]; /* for the kernel: more than a test has under way */
static unsigned cancels_begin, cancels_end;
static bool shut[FILES];

static explore_mutex mutex;
static struct task *tasks;
static atomic_int guests;
static atomic_bool sleeping;

static void append(struct request **list, struct request *r) {
    while (*list != NULL) {
        list = &(*list)->next;
    }
    r->next = NULL;
    *list = r;
}

static struct request *remove_from(struct request **list, ticket t) {
    while (*list != NULL && (*list)->ticket != t) {
        list = &(*list)->next;
    }
    struct request *r = *list;
    if (r != NULL) {
        *list = r->next;
    }
    return r;
}

ticket engine_begin(struct work work) {
    if (count == REQUESTS || shut[work.file]) {
        return 0;
    }
    struct request *r = malloc(sizeof *r);
    *r = (struct request){.work = work, .ticket = ++last};
    count++;
    append(&waiting, r);
    return r->ticket;
}

static bool mark(struct request *list, ticket t) {
    for (; list != NULL; list = list->next) {
        if (list->ticket == t && !list->cancelled) {
            list->cancelled = true;
            return true;
        }
    }
    return false;
}

void engine_cancel(ticket t) {
    (void)mark(waiting, t);
    if (mark(running, t)) {
        cancels[cancels_end++ % 64] = t;
    }
}

static int requests_of(int file) {
    int n = 0;

    for (struct request *r = waiting; r != NULL; r = r->next) {
        n += r->work.file == file;
    }
    for (struct request *r = running; r != NULL; r = r->next) {
        n += r->work.file == file;
    }
    return n;
}

void engine_close(int file) {
    if (shut[file]) {
        return;
    }
    shut[file] = requests_of(file) > 0;
    if (!shut[file]) {
        ring_close(file);
    }
    for (struct request *r = waiting; r != NULL; r = r->next) {
        if (r->work.file == file) {
            engine_cancel(r->ticket);
        }
    }
    for (struct request *r = running; r != NULL; r = r->next) {
        if (r->work.file == file) {
            engine_cancel(r->ticket);
        }
    }
}

/* r is in no list any more. */
static void finish(struct request *r, int result) {
    struct work work = r->work;

    if (r->done > 0) {
        result = (int)r->done;
    }
    free(r);
    count--;
    work.over(work.arg, result);
    if (shut[work.file] && requests_of(work.file) == 0) {
        shut[work.file] = false;
        ring_close(work.file);
    }
}

/* Returns false if something did not fit into the queue. */
static bool submit(void) {
    while (waiting != NULL) {
        struct request *r = waiting;
        if (r->cancelled) {
            waiting = r->next;
            finish(r, -ECANCELED);
            continue;
        }
        struct ring_entry entry = {.operation = (uint8_t)r->work.operation,
                                   .file = r->work.file,
                                   .buffer = (uint64_t)(uintptr_t)r->work.buffer + r->done,
                                   .length = r->work.length - r->done,
                                   .offset = r->work.offset,
                                   .number = r->ticket << 1};
        if (r->work.operation < RING_SEND) { /* a file */
            entry.offset += r->done;
        }
        if (!queue_push(&entry)) {
            return false;
        }
        waiting = r->next;
        append(&running, r);
    }
    while (cancels_begin != cancels_end) {
        ticket t = cancels[cancels_begin % 64];
        struct ring_entry entry = {
            .operation = RING_CANCEL, .buffer = t << 1, .number = t << 1 | 1};
        if (!queue_push(&entry)) {
            return false;
        }
        cancels_begin++;
    }
    return true;
}

static void handle(const struct ring_completion *c) {
    struct request *r = c->number & 1 ? NULL : remove_from(&running, c->number >> 1);

    if (r == NULL) {
        return;
    }
    int result = c->result;
    switch (r->work.operation) {
    case RING_READ:
    case RING_WRITE:
    case RING_SEND:
        r->done += result > 0 ? (unsigned)result : 0;
        if (result > 0 && r->done < r->work.length) {
            result = -EAGAIN; /* for the rest */
        }
        break;
    default:
        break;
    }
    if (result != -EAGAIN && result != -EINTR) {
        finish(r, result);
    } else if (r->cancelled) {
        finish(r, -ECANCELED);
    } else {
        append(&waiting, r);
    }
}

static struct task *take_tasks(void) {
    explore_lock(&mutex);
    struct task *all = tasks;
    tasks = NULL;
    explore_unlock(&mutex);
    return all;
}

/* Runs a list of tasks, the newest of which is first, from its end. */
static void run(struct task *list) {
    struct task *oldest = NULL;

    while (list != NULL) {
        struct task *next = list->next;
        list->next = oldest;
        oldest = list;
        list = next;
    }
    while (oldest != NULL) {
        struct task *task = oldest;
        oldest = task->next;
        task->run(task);
    }
}

void engine_run(void) {
    for (;;) {
        struct ring_completion c;
        while (queue_pop(&c)) {
            handle(&c);
        }
        bool all = submit();
        atomic_store(&sleeping, true);
        bool last_guest = atomic_load(&guests) == 0; /* before the look at the mailbox */
        struct task *list = take_tasks();
        if (list == NULL && last_guest && count == 0) {
            atomic_store(&sleeping, false);
            return;
        }
        run(list);
        if (list != NULL) {
            all = submit() && list == NULL;
        }
        ring_enter(queue_waiting(), all);
        atomic_store(&sleeping, false);
    }
}

static void wake(void) {
    if (atomic_exchange(&sleeping, false)) {
        ring_wake();
    }
}

void engine_post(struct task *task) {
    explore_lock(&mutex);
    task->next = tasks;
    tasks = task;
    explore_unlock(&mutex);
    wake();
}

void engine_arrive(void) {
    atomic_fetch_add(&guests, 1);
}

void engine_leave(void) {
    if (atomic_fetch_sub(&guests, 1) == 1) {
        wake();
    }
}
