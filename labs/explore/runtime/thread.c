/* The threads of the program: fibers, switched by this project's bare swap.
 *
 * A thread runs up to its next visible step, announces it, and the search chooses who goes on. A
 * new thread runs at once up to its first visible step. No other thread sees when it does what
 * comes before that, unless they race. A race is found in whatever order the two accesses are. */
#include "engine.h"

#include <sys/mman.h>

void *__real_memset(void *to, int byte, size_t size);

enum { STACK = 256 << 10, GUARD = 16 << 10, SPIN_READS = 3 };

void threads_map(void) {
    engine->stacks = map_program((size_t)THREADS * STACK);
    for (int i = 0; i < THREADS; i++)
        mprotect(engine->stacks + (size_t)i * STACK, GUARD, PROT_NONE);
}

bool threads_have(uintptr_t address) {
    return address - (uintptr_t)engine->stacks < (uintptr_t)THREADS * STACK;
}

static void switch_to(struct thread *from, struct thread *to) {
    engine->current = to;
    marl_fiber_swap(&from->context, &to->context);
}

void threads_stop(void) {
    struct marl_fiber_context never;

    engine->current = NULL;
    marl_fiber_swap(&never, &engine->home);
    __builtin_unreachable();
}

/* Where a thread goes that reached its first visible step or returned before it. */
static bool back_to_starter(struct thread *t) {
    struct thread *starter = t->starter;

    if (!starter)
        return false;
    t->starter = NULL;
    switch_to(t, starter);
    return true;
}

static void body(void *arg) {
    struct thread *t = arg;

    t->body(t->arg);
    thread_tick(t);
    report_step(t, OP_END, NO_ORDER, 0, 0, 0);
    thread_next(t, OP_END);
    t->ended = true;
    for (unsigned i = 0; i < engine->threads; i++) {
        const struct event *e = &engine->thread[i].next;

        if (e->operation == OP_JOIN && e->thread == t->number)
            engine->ready |= (uint8_t)(1u << i);
    }
    engine->changes++;
    search_ends();
    if (!back_to_starter(t))
        switch_to(t, search_thread(t));
    __builtin_unreachable();
}

static struct thread *add_thread(void (*run)(void *), void *arg) {
    unsigned n = engine->threads++;
    struct thread *t = &engine->thread[n];

    __real_memset(t, 0, sizeof *t);
    t->number = (uint8_t)n;
    t->others = ~lanes[n];
    t->body = run;
    t->arg = arg;
    marl_fiber_set_target(&t->context, engine->stacks + (size_t)n * STACK + GUARD, STACK - GUARD,
                          body, t);
    return t;
}

static void run_test(void *unused) {
    (void)unused;
    explore_test();
}

void threads_run(void) {
    engine->threads = 0;
    engine->current = add_thread(run_test, NULL);
    marl_fiber_swap(&engine->home, &engine->current->context);
}

inline void threads_visible(uintptr_t pc) {
    struct thread *t = engine->current;

    t->pc = pc;
    if (!back_to_starter(t)) {
        struct thread *chosen = search_thread(t);

        if (chosen != t)
            switch_to(t, chosen);
    }
}

void thread_tick(struct thread *t) {
    if (engine->visible >= engine->steps_max)
        report_fault(FAULT_LIMIT, "", "The schedule has more than %u steps.", engine->steps_max);
    engine->visible++;
    engine->silent = 0;
    t->time++;
    /* No thread knows more of t than t itself: its lane was t->time - 1 in each of them. */
    t->view.hb -= ~t->others; /* which is -1 in its lane */
    t->view.co -= ~t->others;
    t->cause = later(t->cause, engine->looks_cause) - ~t->others;
}

/* From here on, thread t can no longer overlook the newest store of p. */
static void see_newest(const struct thread *t, struct place *p) {
    if (p->stores)
        see(t, &p->store[p->stores - 1]);
}

/* All that was done leads to what t does next, and this call to all later steps. */
static void look_around(struct thread *t) {
    for (unsigned i = 0; i < engine->threads; i++)
        t->cause = later(t->cause, engine->thread[i].cause);
    engine->looks_cause = t->cause;
}

/* Waits until another thread has changed something, or no other can run. */
static void give_way(struct thread *t, uintptr_t pc, const char *note) {
    if (t->yielded_at != engine->changes) {
        t->yielded_at = engine->changes;
        t->looks = 0;
    }
    engine->yielded = true;
    search_looks();
    look_around(t);
    thread_next(t, OP_YIELD);
    threads_visible(pc);
    look_around(t);
    report_step(t, OP_YIELD, NO_ORDER, pc, 0, 0);
    report_note(note);
}

void explore_yield(void) {
    struct thread *t = engine->current;

    for (unsigned i = 0; i < RECENT; i++)
        if (t->recent[i])
            see_newest(t, t->recent[i]);
    for (unsigned i = 0; i < RECENT; i++)
        t->recent[i] = NULL;
    for (unsigned i = 0; i < SPINS; i++)
        t->spin[i].repeats = 0;
    t->repeats = false;
    give_way(t, (uintptr_t)__builtin_return_address(0), NULL);
}

void thread_spins(struct thread *t, uintptr_t pc, uintptr_t address) {
    bool spins = false;

    if (engine->search->mode == SCRIPT)
        return;
    for (unsigned i = 0; i < SPINS; i++)
        spins = spins || (t->spin[i].repeats >= SPIN_READS && t->spin[i].pc == pc &&
                          t->spin[i].place->address == address);
    if (!spins)
        return;
    for (unsigned i = 0; i < SPINS; i++)
        if (t->spin[i].repeats >= SPIN_READS)
            see_newest(t, t->spin[i].place);
    give_way(t, pc, "it read the same value again and again");
}

inline void thread_after_read(struct thread *t, struct place *place, uintptr_t pc, uint64_t value) {
    bool recent = false;

    for (unsigned i = 0; i < RECENT && !recent; i++)
        recent = t->recent[i] == place;
    if (!recent)
        t->recent[t->recents++ % RECENT] = place;

    for (unsigned i = 0; i < SPINS; i++) {
        struct spin *s = &t->spin[i];

        if (s->pc != pc || s->place != place)
            continue;
        s->repeats = s->value == value ? s->repeats + 1 : 1;
        s->value = value;
        t->repeats = t->repeats || s->repeats >= SPIN_READS;
        return;
    }
    t->spin[t->spins++ % SPINS] =
        (struct spin){.pc = pc, .place = place, .value = value, .repeats = 1};
}

void thread_changed(struct thread *t) {
    engine->changes++;
    for (unsigned i = 0; i < SPINS; i++)
        t->spin[i].repeats = 0;
    t->repeats = false;
}

/* Package verify stops at it. */
APART _Noreturn void thread_endless(void) {
    report_fault(FAULT_LIVELOCK, "", "Thread %u runs without end and does no visible step.",
                 engine->current->number);
}

int explore_start(void (*run)(void *), void *arg) {
    struct thread *t = engine->current;
    struct event *e = thread_next(t, OP_START);
    uintptr_t pc = (uintptr_t)__builtin_return_address(0);

    /* Threads are numbered in the order of the starts: starts by several threads do not commute. */
    e->address = (uintptr_t)&engine->threads;
    e->writes = true;
    threads_visible(pc);
    if (engine->threads == THREADS)
        report_fault(FAULT_LIMIT, "", "The program starts more than %d threads a schedule.",
                     THREADS - 1);
    thread_tick(t);
    report_step(t, OP_START, NO_ORDER, pc, 0, 0);
    report_stored(engine->threads);

    struct thread *child = add_thread(run, arg);

    child->view = t->view;
    child->cause = t->cause;
    child->starter = t;
    switch_to(t, child);
    return child->number;
}

void explore_join(int thread) {
    struct thread *t = engine->current;
    uintptr_t pc = (uintptr_t)__builtin_return_address(0);

    if (thread < 0 || thread >= (int)engine->threads || thread == t->number)
        report_fault(FAULT_CHECK, "", "explore_join(%d): thread %u knows no such thread.", thread,
                     t->number);

    struct thread *other = &engine->thread[thread];

    if (!other->ended) {
        thread_next(t, OP_JOIN)->thread = (uint8_t)thread;
        threads_visible(pc);
    }
    thread_tick(t);
    view_join(&t->view, &other->view);
    t->cause = later(t->cause, other->cause);
    report_step(t, OP_JOIN, NO_ORDER, pc, 0, 0);
    report_stored((uint64_t)thread);
}

int explore_self(void) {
    return engine->current->number;
}

void explore_check(bool holds, const char *claim) {
    if (!holds)
        report_fault(FAULT_CHECK, claim, "Thread %u finds that \"%s\" does not hold.",
                     engine->current->number, claim);
}

void explore_outcome(unsigned value) {
    if (value >= OUTCOMES)
        report_fault(FAULT_LIMIT, "", "explore_outcome(%u): the largest outcome is %d.", value,
                     OUTCOMES - 1);
    engine->outcome = (int)value;
}

unsigned explore_choose(unsigned n) {
    if (n < 1 || n > CHOICES_MAX)
        report_fault(FAULT_LIMIT, "", "explore_choose(%u): choose one of at most %d values.", n,
                     CHOICES_MAX);
    report_step(engine->current, OP_CHOOSE, NO_ORDER, (uintptr_t)__builtin_return_address(0), 0, 0);

    unsigned chosen = n > 1 ? search_choice(n) : 0;

    report_value(chosen, -2, false);
    return chosen;
}
