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

/* What a file number leads to. Requests keep it when the number is closed. */
struct file {
    char bytes[8];
    unsigned size;
    bool connection; /* nothing comes unless size is more than 0; accepting waits for ever */
};

struct pending {
    struct ring_entry entry;
    struct file *file;
    bool interrupted; /* a cancel came too late to prevent it, and ends it as a signal does */
};

enum { OPEN = 4, HELD = 16 };

/* The memory of the kernel. */
static struct {
    /* How often, in a schedule, the kernel may still */
    struct {
        int late;        /* leave a request that it could complete */
        int part;        /* transfer a part */
        int interrupted; /* end a request with -EINTR */
        int again;       /* ... with -EAGAIN */
        int signal;      /* return from ring_enter with -EINTR */
        int memory;      /* ... with -EAGAIN */
        int fewer;       /* take fewer entries than there are */
        int guests;      /* not 0: be woken by other threads, however often */
    } may;

    struct file files[OPEN];
    struct file *numbers[OPEN];
    unsigned opened;

    /* Requests that the kernel has taken, the oldest first. */
    struct pending pending[HELD];
    unsigned pendings;

    /* Completions for which the queue has no room. */
    struct ring_completion held[HELD];
    unsigned helds;

    /* The kernel's own indices, and where the program was at the begin of this ring_enter. */
    uint32_t taken, posted, popped;

    int idle_rounds; /* calls of ring_enter in a row in which nothing happened */

    /* Completions of requests, but not of cancels; and requests that the engine says are over. */
    unsigned ended, overs;

    unsigned moved; /* bytes that were transferred */

    bool apart;
} own;

static atomic_bool woken, asleep;

/* A program could find that memory, and turn off all that may go wrong. So a thread begins it, and
 * nothing comes after that thread: each access of the program races with it. What is not marked
 * does not: the kernel's functions, which call neither memcpy nor memmove for this memory. */
static void begin_memory(void *unused) {
    volatile size_t size = sizeof own; /* by a call of memset, which is marked */

    (void)unused;
    memset(&own, 0, size);
}

KERNEL static inline void keep_apart(void) {
    if (!own.apart) {
        explore_start(begin_memory, NULL);
        own.apart = true;
    }
}

/* Copies to another place, or within one to a lower address. */
KERNEL static void copy(void *to, const void *from, size_t size) {
    for (size_t i = 0; i < size; i++) {
        ((char *)to)[i] = ((const char *)from)[i];
    }
}

/* Lets something go wrong so many times. */
KERNEL static inline void kernel_may(int *what, int times) {
    keep_apart();
    *what = times;
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
    struct file *f = own.numbers[number];

    f->size = (unsigned)strlen(content);
    copy(f->bytes, content, f->size);
}

KERNEL static inline int open_file(const char *content, bool connection) {
    int number = 0;

    keep_apart();
    while (own.numbers[number] != NULL) {
        number++;
    }
    own.numbers[number] = &own.files[own.opened++];
    own.numbers[number]->connection = connection;
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
    while (own.helds > 0) {
        if (own.posted - own.popped == COMPLETIONS) {
            own.popped = look(&completions_head);
        }
        if (own.posted - own.popped == COMPLETIONS) {
            return;
        }
        completions[own.posted % COMPLETIONS] = own.held[0];
        own.posted++;
        move(&completions_tail, own.posted);
        copy(own.held, own.held + 1, --own.helds * sizeof *own.held);
    }
}

KERNEL static void post(uint64_t number, int result) {
    explore_check(own.helds < HELD, "a request is not handed over again and again");
    own.held[own.helds++] = (struct ring_completion){.number = number, .result = result};
    post_held();
}

/* Carries out a transfer of at most `length` bytes. */
KERNEL static int transfer(struct file *f, const struct ring_entry *e) {
    char *buffer = (char *)(uintptr_t)e->buffer; // NOLINT
    bool in = e->operation == RING_READ || e->operation == RING_RECEIVE;
    char bytes[sizeof f->bytes];
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
    if (n > 1 && happens(&own.may.part)) {
        n = n / 2;
    }
    if (in) {
        copy(bytes, f->bytes + at, n);
        memcpy(buffer, bytes, n);
    } else if (f->connection) { /* what is sent is kept behind what was sent before */
        memcpy(bytes, buffer, n);
        copy(f->bytes + f->size, bytes, n);
        f->size += n;
    } else {
        memcpy(bytes, buffer, n);
        copy(f->bytes + at, bytes, n);
        f->size = at + n > f->size ? at + n : f->size;
    }
    if (in && f->connection) {
        copy(f->bytes, f->bytes + n, f->size - n);
        f->size -= n;
    }
    own.moved += n;
    return (int)n;
}

/* Reports whether a request would wait for another party. */
KERNEL static bool waits(const struct pending *p) {
    bool receives = p->entry.operation == RING_RECEIVE && p->file->size == 0;

    return !p->interrupted && (receives || p->entry.operation == RING_ACCEPT);
}

KERNEL static void end_pending(unsigned i, int result) {
    uint64_t number = own.pending[i].entry.number;

    copy(own.pending + i, own.pending + i + 1, (--own.pendings - i) * sizeof *own.pending);
    own.ended++;
    post(number, result);
}

/* Completes a request that does not wait. */
KERNEL static void complete_pending(unsigned i) {
    struct pending *p = &own.pending[i];

    if (p->interrupted || happens(&own.may.interrupted)) {
        end_pending(i, -EINTR);
    } else if (happens(&own.may.again)) {
        end_pending(i, -EAGAIN);
    } else if (p->entry.operation == RING_NOP) {
        end_pending(i, 0);
    } else {
        end_pending(i, transfer(p->file, &p->entry));
    }
}

KERNEL static void cancel_pending(const struct ring_entry *e) {
    for (unsigned i = 0; i < own.pendings; i++) {
        if (own.pending[i].entry.number == e->buffer) {
            if (explore_choose(2) == 0) {
                end_pending(i, -ECANCELED);
                post(e->number, 0);
            } else {
                own.pending[i].interrupted = waits(&own.pending[i]);
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
    bool open = e.file >= 0 && e.file < OPEN && own.numbers[e.file] != NULL;
    if (e.operation != RING_NOP && !open) {
        own.ended++;
        post(e.number, -EBADF);
        return;
    }
    explore_check(own.pendings < HELD, "no more requests are RUNNING than were begun");
    bool transfers = e.operation == RING_READ || e.operation == RING_WRITE ||
                     e.operation == RING_SEND || e.operation == RING_RECEIVE;
    explore_check(!transfers || e.length > 0, "a request asks the kernel for something");
    struct pending p = {.entry = e, .file = open ? own.numbers[e.file] : NULL};
    copy(&own.pending[own.pendings++], &p, sizeof p);
}

/* Completes some requests that do not wait, in some order. At least one if `one`. */
KERNEL static void complete_some(bool one) {
    for (;;) {
        unsigned can[HELD], n = 0;
        for (unsigned i = 0; i < own.pendings; i++) {
            if (!waits(&own.pending[i])) {
                can[n++] = i;
            }
        }
        if (n == 0) {
            return;
        }
        unsigned next = explore_choose(n + (!one && own.may.late > 0));
        if (next == n) {
            own.may.late--;
            return;
        }
        complete_pending(can[next]);
        one = false;
    }
}

static __attribute__((noinline)) void sleep_until_woken(void) {
    atomic_store(&asleep, true);
    while (!atomic_exchange(&woken, false)) {
        explore_park();
    }
    atomic_store(&asleep, false);
}

/* For a guest: waits until the engine sleeps in the ring, as it must. */
static inline void await_sleep(void) {
    while (!atomic_load(&asleep)) {
        explore_yield();
    }
}

/* Reports whether the program has moved only its own ends of the queues. */
KERNEL static bool own_ends(void) {
    return *(const uint32_t *)&entries_head == own.taken &&
           *(const uint32_t *)&completions_tail == own.posted;
}

KERNEL static int work_once(unsigned submit, unsigned wait) {
    uint32_t pushed = look(&entries_tail), first = own.taken;

    own.popped = look(&completions_head);
    post_held();
    if (own.helds > 0) {
        return -EBUSY;
    }
    if (happens(&own.may.signal)) {
        return -EINTR;
    }
    if (happens(&own.may.memory)) {
        return -EAGAIN;
    }
    while (own.taken - first < submit && own.taken != pushed && !happens(&own.may.fewer)) {
        struct ring_entry e = entries[own.taken % ENTRIES];
        own.taken++;
        move(&entries_head, own.taken);
        take(e);
    }
    if (own.taken - first < submit) {
        wait = 0;
    }
    bool idle = wait == 0 && own.taken == first && own.pendings == 0;
    own.idle_rounds = idle ? own.idle_rounds + 1 : 0;
    explore_check(own.idle_rounds < 10,
                  "engine_run goes on: it pushes what is STAGED, sleeps, or returns");
    complete_some(wait > own.posted - own.popped);
    bool sleeps = wait > own.posted - own.popped && !own.may.guests;
    explore_check(!sleeps || own.pendings > 0,
                  "engine_run sleeps only if the kernel has a request: it goes on, or returns");
    explore_check(!sleeps,
                  "engine_run sleeps only if no request is STAGED, the kernel knows of each "
                  "engine_cancel, and a request that is RUNNING will end");
    if (wait > own.posted - own.popped) {
        sleep_until_woken();
    }
    return (int)(own.taken - first);
}

KERNEL int ring_enter(unsigned submit, unsigned wait) {
    explore_check(own_ends(), "the kernel alone moves its ends of the queues");
    return work_once(submit, wait);
}

void ring_wake(void) {
    atomic_store(&woken, true);
    explore_unpark(0);
}

KERNEL void ring_close(int file) {
    explore_check(file >= 0 && file < OPEN && own.numbers[file] != NULL,
                  "ring_close is called once, when the requests of a file are FREE");
    for (unsigned i = 0; i < own.pendings; i++) {
        explore_check(own.pending[i].file != own.numbers[file],
                      "ring_close is called when the last request of a file is FREE");
    }
    own.numbers[file] = NULL;
}

/* The kernel completes what it has, although the program calls it no more. */
KERNEL static inline void kernel_goes_on(void) {
    own.may.late = own.may.part = own.may.interrupted = own.may.again = 0;
    complete_some(false);
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

KERNEL static inline bool kernel_closed(int number) {
    return own.numbers[number] == NULL;
}

KERNEL static inline void kernel_moved(unsigned bytes) {
    explore_check(own.moved >= bytes, "the kernel transfers the bytes");
}

KERNEL static inline void count_over(void) {
    explore_check(++own.overs <= own.ended, "a request is over when the kernel has completed it");
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
