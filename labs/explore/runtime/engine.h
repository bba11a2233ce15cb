/* What the files of the runtime share: the state of one schedule, and what each file offers to the
 * others.
 *
 *     tsan.c      the functions that the compiler calls for each access to memory
 *     clock.h     vector clocks
 *     model.c     atomic accesses: which stores a load may read, what happens before what
 *     place.c     places in memory, and data races of plain accesses
 *     thread.c    the threads of the program as fibers; start, join, yield
 *     sync.c      mutexes and parking
 *     items.c     values that are put and taken
 *     heap.c      malloc and free
 *     globals.c   global variables get their first values back
 *     search.c    which schedules are tried, in which order
 *     schedule.c  a schedule as a string
 *     follow.c    schedules that another program gives step by step
 *     report.c    steps and faults, as JSON (report.h)
 *     signals.c   what would end the process
 *     main.c      flags, and the plan
 *     runtime.c   all of them: this one is compiled
 *
 * The runtime keeps its state in mapped memory, since globals.c restores all of .data and .bss. */
#ifndef ENGINE_H
#define ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "context.h"
#include "explore.h"

/* The names of the runtime that begin neither with explore_ nor with __ are free for the program.
 * So runtime.c makes them its own. */
#ifdef RUNTIME
#define OWN static
#else
#define OWN
#endif
#define engine explore_engine

/* Inlined although it is large: each access does it. */
#define PART static inline __attribute__((always_inline))
/* Never inlined: so its callers save fewer registers. */
#define APART __attribute__((noinline))

enum {
    THREADS = 7,
    STOP = 0xff,             /* in place of a thread's number */
    NEVER = 0xffff,          /* in a lane: no such moment */
    OPTIONS_MAX = 32,        /* values that one load may return */
    DECISIONS_MAX = 1 << 16, /* in one schedule */
    STEPS_MAX = 20000,       /* visible ones of a schedule: a lane of a clock has 16 bits */
    SILENT_MAX = 1 << 20,    /* plain accesses and branches between two visible steps */
    OUTCOMES = 1024,
    CHOICES_MAX = 26, /* as a letter of a script can say it */
};

/* One store to an atomic object. */
struct store {
    vclock seen;      /* for each thread, its step that first wrote or read it; SC_LANE: its number
                         among the seq_cst stores */
    struct view view; /* what a load with acquire learns */
    struct view thread_view; /* the same, without what a read-modify-write took over */
    vclock cause;            /* what led to it: see model.c */
    vclock readers;          /* what led to the loads that read it */
    uint64_t value;
    int32_t step; /* -1: the value at the start */
    uint16_t time;
    uint8_t thread;
    bool rmw; /* it follows at once, in modification order, the store that it read */
};

/* The bytes [address, address + size) within one word of 8 bytes: an object that the program
 * accesses. Lanes are the last accesses of each thread, zero for none. */
struct place {
    vclock plain_read;
    vclock plain_write;
    vclock atomic_read;
    vclock atomic_write;
    vclock cause;        /* of all atomic accesses */
    struct store *store; /* in modification order */
    uintptr_t address;
    uint16_t stores;
    uint16_t capacity;
    uint8_t size;
    uint8_t rewritten;  /* 1 + the thread whose plain write is not yet in the order; or 0 */
    uint8_t owner;      /* of a mutex: 1 + the thread that holds it */
    struct view view;   /* of a mutex: at the last unlock */
    struct place *next; /* in the same word */
};

enum operation {
    OP_LOAD,
    OP_STORE,
    OP_RMW,
    OP_CAS,
    OP_FENCE,
    OP_LOCK,
    OP_TRYLOCK,
    OP_UNLOCK,
    OP_PARK,
    OP_UNPARK,
    OP_START,
    OP_JOIN,
    OP_END,
    OP_READ,
    OP_WRITE,
    OP_FREE,
    OP_YIELD,
    OP_PUT,
    OP_TAKE,
    OP_CHOOSE,
    OP_STOP,
};

/* The orders as compilers number them. */
enum order { RELAXED, CONSUME, ACQUIRE, RELEASE, ACQ_REL, SEQ_CST, NO_ORDER };

static inline bool acquires(int order) {
    return order != RELAXED && order != RELEASE;
}

static inline bool releases(int order) {
    return order >= RELEASE;
}

/* What a thread does next, before it does it. Two events that commute are independent. */
struct event {
    uintptr_t address; /* of what it touches */
    struct place *mutex;
    uint8_t operation;
    bool writes;
    bool sc;
    bool deadline;  /* of OP_PARK */
    uint8_t thread; /* of OP_JOIN: whom it waits for */
};

struct spin {
    uintptr_t pc;
    struct place *place;
    uint64_t value;
    int repeats;
};

enum { SPINS = 4, RECENT = 4 };

struct thread {
    struct marl_fiber_context context;
    vclock others; /* a mask of all lanes but its own */
    struct view view;
    struct view acquired; /* by relaxed loads, for an acquire fence */
    struct view released; /* at the last release fence, for relaxed stores */
    struct view given;    /* at the unpark that gave the token */
    vclock cause;
    vclock token_cause;
    struct event next;
    uint16_t time; /* of its last visible step */
    uint8_t number;
    bool ended;
    bool token;
    bool spurious_wake; /* it had one */
    bool spurious_fail;
    /* While it spins: the values that it read, and the count of changes at its last yield. */
    struct spin spin[SPINS];
    bool repeats; /* perhaps: one of them was read so often that the thread spins */
    struct place *recent[RECENT];
    unsigned spins, recents;
    uint32_t yielded_at;
    int looks;
    void (*body)(void *);
    void *arg;
    struct thread *starter; /* until its first visible step */
    uintptr_t pc;           /* of its last visible step */
};

/* The moments of a store that t sees now, and no other thread has seen. */
static inline vclock seen_now(const struct thread *t) {
    return t->view.hb | t->others;
}

/* Notes that t has seen a store, now if not before. */
static inline void see(const struct thread *t, struct store *s) {
    s->seen = earlier(s->seen, seen_now(t));
}

/* The lane of t alone, with the time of its last visible step. */
static inline vclock own_time(const struct thread *t) {
    return t->view.hb & ~t->others;
}

/* The accesses of other threads that did not happen before the next step of t: lanes that are not
 * 0. */
static inline vclock unordered(const struct thread *t, vclock accesses) {
    return beyond(accesses, t->view.hb) & t->others;
}

struct step {
    uintptr_t pc, address;
    uint64_t value, stored;
    int32_t from; /* the step that wrote what it read; -1: the first value; -2: it read nothing */
    uint8_t thread, operation, order;
    uint32_t size; /* bytes: of a free, of the whole block */
    bool stale, preempted, has_value, has_stored;
    uint32_t block, offset; /* of the address in the heap, as heap_block returns them */
    uint32_t decisions;     /* that were made before it was recorded */
    const char *note;
};

enum { CALLS_MAX = 256, CALLERS = 8, ENTERED_MAX = 1 << 16 };

/* A function that has been called, has accesses that the compiler marked, and has not returned. */
struct call {
    uintptr_t pc, frame; /* frame: an address in its frame */
    uint64_t stack;      /* which stack that is on */
};

/* A function was entered at pc when so many steps had been made. */
struct entered {
    uintptr_t pc;
    uint32_t steps;
    uint8_t thread;
};

/* Where the functions around a step were called, the innermost first. */
struct callers {
    uintptr_t pc[CALLERS];
    unsigned n;
};

enum fault_kind {
    FAULT_NONE,
    FAULT_CHECK,
    FAULT_RACE,
    FAULT_DEADLOCK,
    FAULT_LIVELOCK,
    FAULT_USE_AFTER_FREE,
    FAULT_DOUBLE_FREE,
    FAULT_CRASH,
    FAULT_ABORT,
    FAULT_LIMIT,
    FAULT_DOUBLE_TAKE,
    FAULT_LOST,
};

struct fault {
    enum fault_kind kind;
    char claim[200];
    char text[600];
};

/* Threads of which one goes on: the number of alternative i is byte i, or STOP: the running thread
 * stops, and never goes on. */
typedef uint64_t candidates;

static inline unsigned candidate(candidates c, unsigned i) {
    return c >> 8 * i & 0xff;
}

static inline candidates candidate_added(candidates c, unsigned i, unsigned thread) {
    return c | (candidates)thread << 8 * i;
}

/* Where the program chose between several continuations. Alternatives are numbered the same way in
 * every mode of the search, so that the numbers alone replay a schedule. */
struct decision {
    uint32_t remaining; /* alternatives that are still to be tried */
    uint8_t chosen;
    bool of_thread;
    uint8_t tried;        /* threads whose continuations were all tried here */
    bool ends;            /* the chosen thread does, behind its step */
    uint8_t ended;        /* threads of `tried` that do */
    uint8_t alternatives; /* how many there are */
    candidates threads;
};

enum mode { BOUNDED, REDUCED, RANDOM, REPLAY, SCRIPT };

/* One search, which may be interrupted between schedules. */
struct search {
    enum mode mode;
    int bound;             /* preemptions, in mode BOUNDED */
    struct decision *path; /* the schedule that runs, or ran last */
    uint32_t length;       /* decisions of it that are given */
    bool bound_hit;        /* something was left out since it needs more preemptions */
    bool options_hit;      /* ... since a load had more than OPTIONS_MAX values */
    bool misfit;           /* a decision names an alternative that there is not */
    bool done;
    uint64_t schedules, pruned;
};

struct engine {
    /* Of the schedule that runs. */
    struct thread thread[THREADS];
    struct marl_fiber_context home; /* the search, which runs schedules */
    struct thread *current;         /* null outside schedules */
    unsigned threads;
    uint32_t steps;   /* all, and of them: */
    uint32_t visible; /* those that thread_tick counts */
    int32_t silent;   /* plain accesses and branches since the last of these */
    uint32_t changes; /* visible steps that may end another thread's spin */
    uint32_t depth;   /* decisions so far */
    int preemptions;
    unsigned stops;  /* threads that stopped, and never go on */
    uint8_t asleep;  /* threads whose next step was tried from an equivalent state */
    uint8_t ends;    /* of these, and perhaps of others: those that end behind that step */
    uint8_t ready;   /* threads that are READY until they have done their next step */
    uint8_t waiting; /* threads that others make ready or not: thread_readiness says it */
    bool preempted;  /* by the choice before the next step */
    bool pruned;
    uint16_t sc_stores;
    vclock sc_view;         /* what threads may not overlook after a seq_cst fence */
    vclock sc_hb;           /* what happened before some seq_cst fence */
    vclock sc_cause;        /* of all seq_cst events */
    vclock sc_fences_cause; /* of all seq_cst fences */
    vclock looks_cause;     /* of all calls of explore_yield, and of all waits in them */
    struct fault fault;
    int outcome;

    /* Of all schedules. */
    struct search *search;
    uint64_t schedule;
    bool yielded; /* a thread did */
    bool chose;   /* the program did, by explore_choose */
    bool woke;    /* a thread woke without a token */
    uint32_t steps_max;
    unsigned stops_max;
    char *stacks;
    uintptr_t heap;        /* the region of malloc */
    struct step *recorded; /* null unless steps are recorded */
    struct call *calls;    /* null unless calls are recorded, too */
    unsigned calls_n;
    struct callers *callers; /* of each recorded step */
    struct entered *entered; /* the functions that were entered */
    unsigned entered_n;
    const char *script;    /* the rest of it, in mode SCRIPT */
    int scripted_value;    /* the alternative of the next value, in mode SCRIPT; -1: the last one */
    uint32_t random_steps; /* the longest schedule so far, in decisions of threads */
};

extern struct engine *engine;

/* Whether a thread can do its next step, and what it needs. */
enum readiness {
    BLOCKED,
    SPINNING,    /* it looks again when no other thread can run */
    SPURIOUS,    /* it may wake without a reason, or sleep for ever */
    BY_DEADLINE, /* its deadline will come */
    READY,
};

static inline enum readiness thread_readiness(const struct thread *t) {
    switch (t->next.operation) {
    case OP_LOCK:
        return t->next.mutex->owner ? BLOCKED : READY;
    case OP_PARK:
        if (t->token)
            return READY;
        if (t->next.deadline)
            return BY_DEADLINE;
        return t->spurious_wake ? BLOCKED : SPURIOUS;
    case OP_JOIN:
        return engine->thread[t->next.thread].ended ? READY : BLOCKED;
    case OP_YIELD:
        return t->yielded_at != engine->changes ? READY : SPINNING;
    case OP_END:
    case OP_STOP:
        return BLOCKED;
    default:
        return READY;
    }
}

/* Begins the next event of t: the caller fills in what is not zero. It is made in place, since to
 * copy a struct whose fields have just been stored stalls the processor. */
static inline struct event *thread_next(struct thread *t, enum operation operation) {
    uint8_t bit = (uint8_t)(1u << t->number);
    struct event *e = &t->next;

    e->address = 0;
    e->mutex = NULL;
    e->operation = (uint8_t)operation;
    e->writes = e->sc = e->deadline = false;
    engine->ready &= (uint8_t)~bit;
    engine->waiting &= (uint8_t)~bit;
    switch (operation) {
    case OP_LOCK:
    case OP_PARK:
    case OP_YIELD:
        engine->waiting |= bit;
        break;
    case OP_JOIN: /* until the other thread ends */
    case OP_END:
    case OP_STOP:
        break;
    default:
        engine->ready |= bit;
    }
    return e;
}

/* thread.c */
OWN void threads_map(void);
/* Reports whether an address is on the stack of a thread. */
OWN bool threads_have(uintptr_t address);
/* Runs one schedule of explore_test and returns when it ended. */
OWN void threads_run(void);
/* Ends the schedule. Called on a fiber. */
OWN _Noreturn void threads_stop(void);
/* Announces the next step of the calling thread, which is in its `next`. Returns when it is to do
 * the step. */
OWN void threads_visible(uintptr_t pc);
/* Counts a visible step of the calling thread: its clocks advance. Fails the schedule if it is one
 * too many. */
OWN void thread_tick(struct thread *t);
OWN void thread_spins(struct thread *t, uintptr_t pc, uintptr_t address);

/* Gives way if the thread read the same value at the same place too often. */
static inline void thread_before_read(struct thread *t, uintptr_t pc, uintptr_t address) {
    if (t->repeats)
        thread_spins(t, pc, address);
}

OWN void thread_after_read(struct thread *t, struct place *place, uintptr_t pc, uint64_t value);
/* Notes that a visible step changed something. */
OWN void thread_changed(struct thread *t);
/* Fails the schedule: the running thread goes on without a visible step. */
OWN _Noreturn void thread_endless(void);

/* Counts a plain access or a branch of the running thread. */
static inline void thread_goes_on(void) {
    if (++engine->silent > SILENT_MAX)
        thread_endless();
}

/* place.c */
OWN void places_map(void);
OWN void places_clear(void);
OWN struct place *place_of(uintptr_t address, size_t size);
/* Checks a plain access of any size, before it happens, and notes it. */
OWN void place_access(uintptr_t address, size_t size, bool write, uintptr_t pc);
/* Reports whether several threads have accessed some of the bytes. */
OWN bool place_shared(uintptr_t address, size_t size);
/* The place of an atomic access, with a race against plain accesses excluded and with at least one
 * store in its order. */
OWN struct place *place_atomic(struct thread *t, uintptr_t address, size_t size, bool write);
/* Makes room for a store behind the first `at` stores. */
OWN struct store *place_insert(struct place *p, unsigned at);
OWN uint64_t memory_read(uintptr_t address, size_t size);
OWN void memory_write(uintptr_t address, size_t size, uint64_t value);

/* model.c */
OWN uint64_t model_load(uintptr_t address, size_t size, int order, uintptr_t pc);
OWN void model_store(uintptr_t address, size_t size, uint64_t value, int order, uintptr_t pc);
enum rmw { RMW_EXCHANGE, RMW_ADD, RMW_SUB, RMW_AND, RMW_OR, RMW_XOR, RMW_NAND };
OWN uint64_t model_rmw(uintptr_t address, size_t size, enum rmw rmw, uint64_t operand, int order,
                       uintptr_t pc);
/* Returns the value read, and in *done whether desired was stored. */
OWN uint64_t model_cas(uintptr_t address, size_t size, uint64_t expected, uint64_t desired,
                       bool weak, int order, int failure, uintptr_t pc, bool *done);
OWN void model_fence(int order, uintptr_t pc);

/* items.c */
OWN void items_map(void);
OWN void items_clear(void);
/* Fails the schedule if a value was put and not taken. Called when all threads have ended. */
OWN void items_end(void);

/* heap.c */
OWN void heap_map(void);
OWN void heap_clear(void);
enum { HEAP_REGION = 1 << 22, RUNTIME_REGION = 1 << 28 };

/* Reports whether an address is in the region of malloc. */
static inline bool heap_has(uintptr_t address) {
    return address - engine->heap < HEAP_REGION;
}

OWN void heap_checked(uintptr_t address, size_t size, bool write, uintptr_t pc);

/* The number of the allocation that an address is in, from 1, and the offset in it; or 0. */
OWN unsigned heap_block(uintptr_t address, size_t *offset);
/* Fails the schedule if an access touches memory of the heap that is not allocated, or memory of
 * the runtime. */
static inline void heap_check(uintptr_t address, size_t size, bool write, uintptr_t pc) {
    if (address - (uintptr_t)engine < RUNTIME_REGION + HEAP_REGION)
        heap_checked(address, size, write, pc);
}

/* globals.c */
OWN void globals_save(void);
OWN void globals_restore(void);

/* search.c */
OWN void search_map(struct search *s, enum mode mode);
/* Chooses the thread that runs next; current may have ended. Fails the schedule or ends it if there
 * is none. */
OWN struct thread *search_thread(struct thread *current);
/* Chooses one of n values; allowed has a bit for each that the reduced search needs. */
OWN unsigned search_value(unsigned n, uint32_t allowed);
/* Chooses one of n values for the program itself. */
OWN unsigned search_choice(unsigned n);
/* Say that the running thread calls explore_yield, or ends, behind its last step. */
OWN void search_looks(void);
OWN void search_ends(void);
/* Prepares the next schedule of a search. Returns false when all were tried. */
OWN bool search_next(struct search *s);
OWN void search_seed(uint64_t seed);
/* Prepares the priorities of a schedule in mode RANDOM. */
OWN void search_shuffle(struct search *s);
/* What the bound of PCT depends on. Each of the last `schedules` ones finds a fault of depth d with
 * a probability of at least 1 / (divisor * threads * choices^(d-1)). */
struct bound {
    unsigned threads, choices, divisor;
    uint64_t schedules;
};
/* Returns false if the schedules drawn so far have no bound. */
OWN bool search_bound(struct bound *b);

/* follow.c */
/* In mode SCRIPT: the thread that runs next, and which of n values it reads. */
OWN struct thread *follow_thread(void);
OWN unsigned follow_value(unsigned n);
/* The same for explore_choose. */
OWN unsigned follow_choice(unsigned n);
/* Prints what happened in the schedule that followed a script, and was recorded. */
OWN void follow_report(void);

/* schedule.c */
/* Writes the decisions of a schedule as text; returns its length without the end. */
OWN size_t schedule_write(const struct decision *path, uint32_t length, char *text, size_t size);
/* Reads it into path; returns the number of decisions, or -1 if the text is not a schedule. */
OWN int schedule_read(const char *text, struct decision *path, uint32_t capacity);

/* signals.c */
OWN void signals_catch(void);

/* main.c */
/* Ends the process, as the program asks for what the explorer does not have. */
OWN _Noreturn void main_misused(const char *what);
/* Memory of the runtime, from *engine on. */
OWN void *map_memory(size_t size);
/* Memory that the program may access, elsewhere: at the same address in each process, where the
   system has that free. */
OWN void *map_program(size_t size);

#include "report.h"

#endif
