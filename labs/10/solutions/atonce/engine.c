/* Requests and cancels go into the submission queue at once. An entry that finds no room waits in a
 * ring, which keeps requests, their remainders and their cancels in one order.
 *
 * A request that is tried again, and then cancelled, is cancelled by the kernel, too: its cancel is
 * behind it in the same order. So no request ends without a completion. */
#include <errno.h>
#include <explore.h>
#include <stddef.h>

#include "engine.h"

enum { BACKLOG = 8 * REQUESTS, CANCELS = 1 }; /* numbers of cancels have that bit, others not */

static struct {
    struct work work;
    uint64_t ticket; /* 0: the place is free */
    unsigned done;
    bool cancelled;
} table[REQUESTS];

static struct ring_entry backlog[BACKLOG];
static unsigned put, got;
static uint64_t tickets;
static bool closing[FILES];

static explore_mutex mutex;
static struct task *first, *last;
static int guests;
static bool waits;

static bool flush(void) {
    while (got < put && queue_push(&backlog[got % BACKLOG])) {
        got++;
    }
    return got == put;
}

static void send_entry(struct ring_entry entry) {
    backlog[put++ % BACKLOG] = entry;
    (void)flush();
}

static void send_rest(int i) {
    const struct work *w = &table[i].work;
    bool connection = w->operation == RING_SEND || w->operation == RING_RECEIVE;

    send_entry((struct ring_entry){
        .operation = (uint8_t)w->operation,
        .file = w->file,
        .buffer = (uintptr_t)w->buffer + table[i].done,
        .length = w->length - table[i].done,
        .offset = w->offset + (connection ? 0 : table[i].done),
        .number = table[i].ticket,
    });
}

static void send_cancel(int i) {
    send_entry((struct ring_entry){
        .operation = RING_CANCEL, .buffer = table[i].ticket, .number = table[i].ticket | CANCELS});
}

static int place_of(uint64_t ticket) {
    int i = REQUESTS;

    while (--i >= 0 && table[i].ticket != ticket) {
    }
    return i;
}

ticket engine_begin(struct work work) {
    int i = place_of(0);

    if (i < 0 || closing[work.file]) {
        return 0;
    }
    table[i].work = work;
    table[i].done = 0;
    table[i].cancelled = false;
    table[i].ticket = ++tickets << 1;
    send_rest(i);
    return table[i].ticket;
}

void engine_cancel(ticket t) {
    int i = place_of(t);

    if (t != 0 && i >= 0 && !table[i].cancelled) {
        table[i].cancelled = true;
        send_cancel(i);
    }
}

static bool in_use(int file) {
    bool found = false;

    for (int i = 0; i < REQUESTS; i++) {
        found = found || (table[i].ticket != 0 && table[i].work.file == file);
    }
    return found;
}

void engine_close(int file) {
    if (closing[file]) {
        return;
    }
    closing[file] = true;
    for (int i = 0; i < REQUESTS; i++) {
        if (table[i].ticket != 0 && table[i].work.file == file) {
            engine_cancel(table[i].ticket);
        }
    }
    if (!in_use(file)) {
        closing[file] = false;
        ring_close(file);
    }
}

static void end(int i, int result) {
    struct work work = table[i].work;

    table[i].ticket = 0;
    if (closing[work.file] && !in_use(work.file)) {
        closing[work.file] = false;
        ring_close(work.file);
    }
    work.over(work.arg, result);
}

static void handle(struct ring_completion c) {
    int i = c.number == 0 || c.number & CANCELS ? -1 : place_of(c.number);

    if (i < 0) {
        return;
    }
    enum ring_operation operation = table[i].work.operation;
    bool again = c.result == -EAGAIN || c.result == -EINTR;
    if (operation == RING_RECEIVE || operation == RING_ACCEPT) {
        if (!again) {
            end(i, c.result);
            return;
        }
    } else if (c.result > 0) {
        table[i].done += (unsigned)c.result;
        again = table[i].done < table[i].work.length;
    }
    if (again && table[i].cancelled) {
        c.result = -ECANCELED;
        again = false;
    }
    if (again) {
        send_rest(i);
    } else {
        end(i, table[i].done > 0 ? (int)table[i].done : c.result);
    }
}

/* Takes a task from the mailbox; NULL: there is none. *alone: and no guest could post one. */
static struct task *next_task(bool *alone, bool will_wait) {
    explore_lock(&mutex);
    struct task *task = first;
    if (task != NULL) {
        first = task->next;
    }
    *alone = task == NULL && guests == 0;
    waits = task == NULL && will_wait;
    explore_unlock(&mutex);
    return task;
}

void engine_run(void) {
    bool alone = false;

    for (;;) {
        struct task *task;
        while ((task = next_task(&alone, false)) != NULL) {
            task->run(task);
        }
        bool all = flush(), idle = true;
        for (int i = 0; i < REQUESTS; i++) {
            idle = idle && table[i].ticket == 0;
        }
        if (idle && alone) {
            return;
        }
        task = next_task(&alone, all);
        if (task != NULL) {
            task->run(task);
            continue;
        }
        ring_enter(queue_waiting(), all && !(idle && alone));
        struct ring_completion c;
        while (queue_pop(&c)) {
            handle(c);
        }
    }
}

void engine_post(struct task *task) {
    explore_lock(&mutex);
    task->next = NULL;
    if (first == NULL) {
        first = task;
    } else {
        last->next = task;
    }
    last = task;
    bool sleeps = waits;
    explore_unlock(&mutex);
    if (sleeps) {
        ring_wake();
    }
}

void engine_arrive(void) {
    explore_lock(&mutex);
    guests++;
    explore_unlock(&mutex);
}

void engine_leave(void) {
    explore_lock(&mutex);
    bool wake = --guests == 0 && waits;
    explore_unlock(&mutex);
    if (wake) {
        ring_wake();
    }
}
