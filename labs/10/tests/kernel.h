/* The simulated kernel. It may do all that the real one may: complete requests in any order and
 * late, transfer a part, be interrupted, refuse to take entries. explore_choose decides, so the
 * explorer tries each way. A scenario says by kernel_may what may go wrong, and how often, so that
 * its schedules come to an end.
 *
 * Files 0 to 3 are what a scenario opens. Thread 0 runs the engine. */
#include <errno.h>
#include <explore.h>
#include <stddef.h>
#include <string.h>

#include "../engine.h"

#ifndef ENTRIES
#define ENTRIES 4
#endif
#ifndef COMPLETIONS
#define COMPLETIONS 8
#endif

/* The explorer need not see what the kernel does with its own memory. So that a schedule has few
 * steps, the kernel's functions are not marked, and use atomic objects by these two alone. */
#define KERNEL __attribute__((no_sanitize("thread")))

static __attribute__((noinline)) uint32_t look(const _Atomic uint32_t *index) {
    return atomic_load_explicit(index, memory_order_acquire);
}

static __attribute__((noinline)) void move(_Atomic uint32_t *index, uint32_t to) {
    atomic_store_explicit(index, to, memory_order_release);
}

static struct ring_entry entries[ENTRIES];
static struct ring_completion completions[COMPLETIONS];
static _Atomic uint32_t entries_head, entries_tail, completions_head, completions_tail;

struct ring ring = {
    .entries = entries,
    .entries_size = ENTRIES,
    .entries_head = &entries_head,
    .entries_tail = &entries_tail,
    .completions = completions,
    .completions_size = COMPLETIONS,
    .completions_head = &completions_head,
    .completions_tail = &completions_tail,
};

/* How often, in a schedule, the kernel may still */
static struct {
    int late;        /* leave a request that it could complete */
    int part;        /* transfer a part */
    int interrupted; /* end a request with -EINTR */
    int again;       /* ... with -EAGAIN */
    int signal;      /* return from ring_enter with -EINTR */
    int memory;      /* ... with -EAGAIN */
    int fewer;       /* take fewer entries than there are */
    int guests;      /* not 0: be woken by other threads, however often */
} may;

/* What a file number leads to. Requests keep it when the number is closed. */
struct file {
    char bytes[8];
    unsigned size;
    bool connection; /* nothing comes unless size is more than 0; accepting waits for ever */
};

enum { OPEN = 4, HELD = 16 };
static struct file files[OPEN];
static struct file *numbers[OPEN];
static unsigned opened;

/* Requests that the kernel has taken, the oldest first. */
static struct pending {
    struct ring_entry entry;
    struct file *file;
    bool interrupted; /* a cancel came too late to prevent it, and ends it as a signal does */
} pending[HELD];
static unsigned pendings;

/* Completions for which the queue has no room. */
static struct ring_completion held[HELD];
static unsigned helds;

/* The kernel's own indices, and where the program was at the begin of this ring_enter. */
static uint32_t taken, posted, popped;

static atomic_bool woken;
static int idle_rounds; /* calls of ring_enter in a row in which nothing happened */

/* Completions of requests, but not of cancels; and requests that the engine says are over. */
static unsigned ended, overs;

/* The sum of the kernel's memory when the kernel has last used it: 0 at first. A program could find
 * that memory, and turn off all that may go wrong. */
static uint64_t sum;

KERNEL static uint64_t add(uint64_t to, const void *memory, size_t size) {
    for (const uint32_t *word = memory; size > 0; size -= sizeof *word) {
        to = (to ^ *word++) * 0x100000001b3;
    }
    return to;
}

KERNEL static uint64_t sum_now(void) {
    uint32_t counts[] = {opened, pendings, helds, taken, posted, popped, ended, overs};
    uint64_t now = add(0, &may, sizeof may);

    now = add(now, files, sizeof files);
    now = add(now, numbers, sizeof numbers);
    now = add(now, counts, sizeof counts);
    now = add(now, pending, pendings * sizeof *pending);
    now = add(now, held, helds * sizeof *held);
    return add(now, &idle_rounds, sizeof idle_rounds);
}

/* Each function that the program or a scenario calls begins with this, and ends with leave. */
KERNEL static void enter(void) {
    explore_check(sum == sum_now(), "the kernel alone writes into its memory");
}

KERNEL static void leave(void) {
    sum = sum_now();
}

/* Lets something go wrong so many times. */
KERNEL static inline void kernel_may(int *what, int times) {
    enter();
    *what = times;
    leave();
}

/* Decides whether something happens now that may happen so many times. */
KERNEL static bool happens(int *times) {
    if (*times > 0 && explore_choose(2) == 1) {
        --*times;
        return true;
    }
    return false;
}

/* Gives a file or a connection that content. */
KERNEL static inline void kernel_bring(int number, const char *content) {
    struct file *f = numbers[number];

    enter();
    f->size = (unsigned)strlen(content);
    memcpy(f->bytes, content, f->size);
    leave();
}

KERNEL static inline int open_file(const char *content, bool connection) {
    int number = 0;

    enter();
    while (numbers[number] != NULL) {
        number++;
    }
    numbers[number] = &files[opened++];
    numbers[number]->connection = connection;
    leave();
    kernel_bring(number, content);
    return number;
}

/* Opens a file with that content, and returns the lowest number that is free. */
static inline int kernel_open(const char *content) {
    return open_file(content, false);
}

/* Opens a connection on which that has come. */
static inline int kernel_connect(const char *content) {
    return open_file(content, true);
}

/* Writes as many of the completions that are held back as there is room for. */
KERNEL static void post_held(void) {
    while (helds > 0) {
        if (posted - popped == COMPLETIONS) {
            popped = look(&completions_head);
        }
        if (posted - popped == COMPLETIONS) {
            return;
        }
        completions[posted % COMPLETIONS] = held[0];
        posted++;
        move(&completions_tail, posted);
        memmove(held, held + 1, --helds * sizeof *held);
    }
}

KERNEL static void post(uint64_t number, int result) {
    explore_check(helds < HELD, "a request is not handed over again and again");
    held[helds++] = (struct ring_completion){.number = number, .result = result};
    post_held();
}

/* Carries out a transfer of at most `length` bytes. */
KERNEL static int transfer(struct file *f, const struct ring_entry *e) {
    char *buffer = (char *)(uintptr_t)e->buffer; // NOLINT
    bool in = e->operation == RING_READ || e->operation == RING_RECEIVE;
    unsigned n = e->length, at = f->connection ? 0 : (unsigned)e->offset;

    if (f->connection && e->offset != 0) {
        return -ESPIPE;
    }
    if (in && n > f->size - at) {
        n = at < f->size ? f->size - at : 0;
    }
    if (!in && n > sizeof f->bytes - at) {
        return -ENOSPC;
    }
    if (n > 1 && happens(&may.part)) {
        n = n / 2;
    }
    if (in) {
        memcpy(buffer, f->bytes + at, n);
    } else if (f->connection) { /* what is sent is kept behind what was sent before */
        memcpy(f->bytes + f->size, buffer, n);
        f->size += n;
    } else {
        memcpy(f->bytes + at, buffer, n);
        f->size = at + n > f->size ? at + n : f->size;
    }
    if (in && f->connection) {
        memmove(f->bytes, f->bytes + n, f->size - n);
        f->size -= n;
    }
    return (int)n;
}

/* Reports whether a request would wait for another party. */
KERNEL static bool waits(const struct pending *p) {
    bool receives = p->entry.operation == RING_RECEIVE && p->file->size == 0;

    return !p->interrupted && (receives || p->entry.operation == RING_ACCEPT);
}

KERNEL static void end_pending(unsigned i, int result) {
    uint64_t number = pending[i].entry.number;

    memmove(pending + i, pending + i + 1, (--pendings - i) * sizeof *pending);
    ended++;
    post(number, result);
}

/* Completes a request that does not wait. */
KERNEL static void complete_pending(unsigned i) {
    struct pending *p = &pending[i];

    if (p->interrupted || happens(&may.interrupted)) {
        end_pending(i, -EINTR);
    } else if (happens(&may.again)) {
        end_pending(i, -EAGAIN);
    } else if (p->entry.operation == RING_NOP) {
        end_pending(i, 0);
    } else {
        end_pending(i, transfer(p->file, &p->entry));
    }
}

KERNEL static void cancel_pending(const struct ring_entry *e) {
    for (unsigned i = 0; i < pendings; i++) {
        if (pending[i].entry.number == e->buffer) {
            if (explore_choose(2) == 0) {
                end_pending(i, -ECANCELED);
                post(e->number, 0);
            } else {
                pending[i].interrupted = waits(&pending[i]);
                post(e->number, -EALREADY);
            }
            return;
        }
    }
    post(e->number, -ENOENT);
}

KERNEL static void take(struct ring_entry e) {
    if (e.operation == RING_CANCEL) {
        cancel_pending(&e);
        return;
    }
    bool open = e.file >= 0 && e.file < OPEN && numbers[e.file] != NULL;
    if (e.operation != RING_NOP && !open) {
        ended++;
        post(e.number, -EBADF);
        return;
    }
    explore_check(pendings < HELD, "no more requests are RUNNING than were begun");
    bool transfers = e.operation == RING_READ || e.operation == RING_WRITE ||
                     e.operation == RING_SEND || e.operation == RING_RECEIVE;
    explore_check(!transfers || e.length > 0, "a request asks the kernel for something");
    pending[pendings++] = (struct pending){.entry = e, .file = open ? numbers[e.file] : NULL};
}

/* Completes some requests that do not wait, in some order. At least one if `one`. */
KERNEL static void complete_some(bool one) {
    for (;;) {
        unsigned can[HELD], n = 0;
        for (unsigned i = 0; i < pendings; i++) {
            if (!waits(&pending[i])) {
                can[n++] = i;
            }
        }
        if (n == 0) {
            return;
        }
        unsigned next = explore_choose(n + (!one && may.late > 0));
        if (next == n) {
            may.late--;
            return;
        }
        complete_pending(can[next]);
        one = false;
    }
}

static __attribute__((noinline)) void sleep_until_woken(void) {
    while (!atomic_exchange(&woken, false)) {
        explore_park();
    }
}

/* Reports whether the program has moved only its own ends of the queues. */
KERNEL static bool own_ends(void) {
    return *(const uint32_t *)&entries_head == taken &&
           *(const uint32_t *)&completions_tail == posted;
}

KERNEL static int work_once(unsigned submit, unsigned wait) {
    uint32_t pushed = look(&entries_tail), first = taken;

    popped = look(&completions_head);
    post_held();
    if (helds > 0) {
        return -EBUSY;
    }
    if (happens(&may.signal)) {
        return -EINTR;
    }
    if (happens(&may.memory)) {
        return -EAGAIN;
    }
    while (taken - first < submit && taken != pushed && !happens(&may.fewer)) {
        struct ring_entry e = entries[taken % ENTRIES];
        taken++;
        move(&entries_head, taken);
        take(e);
    }
    if (taken - first < submit) {
        wait = 0;
    }
    idle_rounds = wait == 0 && taken == first && pendings == 0 ? idle_rounds + 1 : 0;
    explore_check(idle_rounds < 10,
                  "engine_run goes on: it pushes what is STAGED, sleeps, or returns");
    complete_some(wait > posted - popped);
    explore_check(wait <= posted - popped || may.guests,
                  "engine_run sleeps only if no request is STAGED, the kernel knows of each "
                  "engine_cancel, and a request that is RUNNING will end");
    if (wait > posted - popped) {
        sleep_until_woken();
    }
    return (int)(taken - first);
}

KERNEL int ring_enter(unsigned submit, unsigned wait) {
    enter();
    explore_check(own_ends(), "the kernel alone moves its ends of the queues");
    int n = work_once(submit, wait);
    leave();
    return n;
}

void ring_wake(void) {
    atomic_store(&woken, true);
    explore_unpark(0);
}

KERNEL void ring_close(int file) {
    enter();
    explore_check(file >= 0 && file < OPEN && numbers[file] != NULL,
                  "ring_close is called once, when the requests of a file are FREE");
    for (unsigned i = 0; i < pendings; i++) {
        explore_check(pending[i].file != numbers[file],
                      "ring_close is called when the last request of a file is FREE");
    }
    numbers[file] = NULL;
    leave();
}

/* Work on a file from its beginning. */
static inline struct work work_of(enum ring_operation operation, int file, void *buffer,
                                  unsigned length, void (*over)(void *, int), void *arg) {
    return (struct work){.operation = operation,
                         .file = file,
                         .buffer = buffer,
                         .length = length,
                         .over = over,
                         .arg = arg};
}

enum { UNDER_WAY = -1000 };

KERNEL static inline void count_over(void) {
    enter();
    explore_check(++overs <= ended, "a request is over when the kernel has completed it");
    leave();
}

/* For work.over: notes the result in *(int *)arg, which was UNDER_WAY. */
static inline void note(void *arg, int result) {
    int *noted = arg;

    if (result != -ECANCELED) { /* which may be of a request that the kernel never had */
        count_over();
    }
    explore_check(*noted == UNDER_WAY, "a request is over once");
    *noted = result;
}
