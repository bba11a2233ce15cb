/* Which schedules are tried, in which order.
 *
 * A schedule is a list of decisions: which thread goes on before a visible step, and which of
 * several values a step reads. Schedules are tried depth first: run one from the start, then change
 * the last decision that has an alternative left.
 *
 * BOUNDED tries all schedules with at most `bound` preemptions: choices of another thread although
 * the running one could go on. Nothing else is left out, but see model.c for stores that go to an
 * earlier place in modification order.
 *
 * REDUCED tries at least one schedule of each class of equivalent ones, whatever its preemptions,
 * with sleep sets. Two steps are dependent if their order makes a difference. These are two that
 * touch one object and of which one writes, two seq_cst ones of which one is a fence, and a yield
 * and any other. When all continuations of a state that begin with thread u were tried, u sleeps in
 * the other ones. It wakes with the first step that depends on its next one. If u ran before such a
 * step, the schedule would be equivalent to one in which u runs first, and that one was tried. So a
 * schedule is given up when all threads that could run are asleep.
 *
 * A thread does its step and what comes behind it, up to the next one. A call of explore_yield
 * there depends on what changes a wait: a step that writes, and the end of a thread. So it wakes
 * the threads that do that next. Where it comes behind the change, the thread finds less: that need
 * not be tried.
 *
 * A thread sleeps with all choices of its next step (values, failures, deadlines): they change only
 * by a step that wakes it. The loads that model.c leaves out are the same in equivalent schedules,
 * as the same steps led to each.
 *
 * A thread that stops, and never goes on, does so right after one of its steps. To stop later is
 * the same, as no other thread sees it. So only the thread that ran last has this choice. It puts
 * no thread to sleep: once another thread has gone on, the choice is no longer there.
 *
 * RANDOM gives the threads random priorities and runs the one with the highest. At a few random
 * moments the running thread falls to the lowest. This is PCT (S. Burckhardt and others, ASPLOS
 * 2010). A fault that needs d orderings among n threads and k steps, and d - 1 such moments, is
 * found with a probability of at least 1 / (n k^(d-1)). Here the number of moments is drawn as
 * well, and every second schedule takes the newest values. So for a fault that needs no other
 * values, and d up to CHANGE_POINTS + 1, the probability is at least that, divided by
 * 2 * (CHANGE_POINTS + 1). A thread that yields falls to the lowest at once, and one that is parked
 * wakes as soon as it is the highest: then there is no such bound. */
#include "engine.h"

#include <stdio.h>

enum { LOOKS = 4, CHANGE_POINTS = 4 };

/* For mode RANDOM. */
struct dice {
    uint64_t state;
    int priority[THREADS];
    uint32_t change[CHANGE_POINTS];
    unsigned changes;
    uint64_t marks;   /* bit i: a change is at a moment m with m % 64 == i */
    uint32_t moments; /* choices of threads so far in this schedule */
    bool newest;      /* it takes the newest values */
    uint64_t drawn;   /* schedules since one had more choices of threads than any before */
    unsigned threads; /* most of a schedule */
};

static struct dice *dice;

void search_map(struct search *s, enum mode mode) {
    *s = (struct search){.mode = mode};
    s->path = map_memory(DECISIONS_MAX * sizeof *s->path);
    if (!dice)
        dice = map_memory(sizeof *dice);
}

void search_seed(uint64_t seed) {
    dice->state = seed;
}

/* splitmix64 */
static uint64_t roll(uint64_t sides) {
    uint64_t z = dice->state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint64_t)((unsigned __int128)(z ^ (z >> 31)) * sides >> 64);
}

void search_shuffle(struct search *s) {
    s->length = 0;
    for (int i = 0; i < THREADS; i++) {
        int j = (int)roll((uint64_t)i + 1);

        dice->priority[i] = dice->priority[j];
        dice->priority[j] = CHANGE_POINTS + i;
    }
    dice->newest = roll(2);
    dice->drawn++;
    dice->changes = (unsigned)roll(CHANGE_POINTS + 1);
    dice->marks = 0;
    for (unsigned i = 0; i < dice->changes; i++) {
        dice->change[i] = (uint32_t)roll(engine->random_steps ? engine->random_steps : 1);
        dice->marks |= 1ull << dice->change[i] % 64;
    }
    dice->moments = 0;
}

static unsigned random_thread(candidates c, unsigned n, const struct thread *current) {
    unsigned best = 0;

    for (unsigned i = 0; i < dice->changes && dice->marks >> dice->moments % 64 & 1; i++)
        if (dice->change[i] == dice->moments)
            dice->priority[current->number] = CHANGE_POINTS - 1 - (int)i;
    if (current->next.operation == OP_YIELD)
        dice->priority[current->number] = -(int)dice->moments;
    dice->moments++;
    if (engine->threads > dice->threads)
        dice->threads = engine->threads;
    if (dice->moments > engine->random_steps) {
        engine->random_steps = dice->moments;
        dice->drawn = 0;
    }
    /* About once a schedule, the running thread stops and never goes on, if it may. */
    if (candidate(c, n - 1) == STOP) {
        n--;
        if (roll(engine->random_steps + 16) == 0)
            return n;
    }
    for (unsigned i = 1; i < n; i++)
        if (dice->priority[candidate(c, i)] > dice->priority[candidate(c, best)])
            best = i;
    return best;
}

bool search_bound(struct bound *b) {
    *b = (struct bound){.threads = dice->threads,
                        .choices = engine->random_steps,
                        .schedules = dice->drawn,
                        .divisor = 2 * (CHANGE_POINTS + 1)};
    return dice->drawn > 0 && !engine->yielded && !engine->chose && !engine->woke &&
           !engine->stops_max;
}

/* The next decision of the schedule. If *given, it is taken already. Otherwise the caller fills it
 * in. */
static struct decision *next_decision(bool *given) {
    struct search *s = engine->search;
    struct decision *d = &s->path[engine->depth++];

    *given = engine->depth <= s->length;
    if (!*given) {
        if (engine->depth >= DECISIONS_MAX)
            report_fault(FAULT_LIMIT, "", "The schedule has more than %d choices.", DECISIONS_MAX);
        s->length = engine->depth;
    }
    return d;
}

/* A schedule that is replayed may be of another program. */
static unsigned chosen_of(const struct decision *d, unsigned n) {
    if (d->chosen < n)
        return d->chosen;
    engine->search->misfit = true;
    return 0;
}

/* Chooses one of n alternatives: threads, and perhaps STOP behind them. allowed has a bit for each
 * to try. */
static const struct decision *choose_thread(candidates threads, unsigned n, uint32_t allowed,
                                            const struct thread *current) {
    enum mode mode = engine->search->mode;
    bool given;
    struct decision *d = next_decision(&given);

    if (given)
        return d;
    d->of_thread = true;
    d->tried = d->ended = 0;
    d->ends = false;
    d->alternatives = (uint8_t)n;
    d->threads = threads;
    d->chosen = (uint8_t)(mode == RANDOM   ? random_thread(threads, n, current)
                          : mode == REPLAY ? 0
                                           : (unsigned)__builtin_ctz(allowed));
    d->remaining = allowed & ~(1u << d->chosen);
    return d;
}

unsigned search_value(unsigned n, uint32_t allowed) {
    enum mode mode = engine->search->mode;
    bool given;
    struct decision *d = next_decision(&given);

    if (!given) {
        if (mode != REDUCED)
            allowed = (uint32_t)((1ull << n) - 1);
        d->of_thread = false;
        d->alternatives = (uint8_t)n;
        d->chosen = mode == SCRIPT                               ? (uint8_t)follow_value(n)
                    : mode == RANDOM && !dice->newest && roll(2) ? (uint8_t)roll(n)
                                                                 : 0;
        d->remaining = allowed & ~(1u << d->chosen);
    }
    return chosen_of(d, n);
}

/* Other threads have no part in it. So it counts as a part of the step before it. */
unsigned search_choice(unsigned n) {
    enum mode mode = engine->search->mode;
    bool given;
    struct decision *d = next_decision(&given);

    engine->chose = true;
    if (!given) {
        d->of_thread = false;
        d->alternatives = (uint8_t)n;
        d->chosen = (uint8_t)(mode == SCRIPT ? follow_choice(n) : mode == RANDOM ? roll(n) : 0);
        d->remaining = ((1u << n) - 1) & ~(1u << d->chosen);
    }
    return chosen_of(d, n);
}

/* Reports whether the order of the two steps makes a difference. */
static bool dependent(const struct event *a, const struct event *b) {
    if (a->operation == OP_YIELD || b->operation == OP_YIELD)
        return true;
    if (a->sc && b->sc && (a->operation == OP_FENCE || b->operation == OP_FENCE))
        return true;
    return a->address && a->address == b->address && (a->writes || b->writes);
}

static uint8_t still_asleep(unsigned asleep, const struct thread *next) {
    for (unsigned mask = asleep; mask; mask &= mask - 1) {
        unsigned u = (unsigned)__builtin_ctz(mask);

        if (u == next->number || dependent(&engine->thread[u].next, &next->next))
            asleep &= ~(1u << u);
    }
    return (uint8_t)asleep;
}

/* Says what a thread waits for. */
static int waits_for(const struct thread *t, char *text, size_t size) {
    const struct event *e = &t->next;

    switch (e->operation) {
    case OP_LOCK:
        return snprintf(text, size, " Thread %u waits for a mutex that thread %d holds.", t->number,
                        e->mutex->owner - 1);
    case OP_JOIN:
        return snprintf(text, size, " Thread %u waits for the end of thread %u.", t->number,
                        e->thread);
    case OP_PARK:
        return snprintf(text, size, " Thread %u is parked and has no token.", t->number);
    case OP_STOP:
        return snprintf(text, size, " Thread %u has stopped and never goes on.", t->number);
    default:
        return snprintf(text, size, " Thread %u spins, and nothing changes what it reads.",
                        t->number);
    }
}

/* Reports whether a thread has stopped and never goes on, or waits for the end of such a one. */
static bool held_up_by_stop(const struct thread *t) {
    for (unsigned i = 0; i < THREADS && t->next.operation == OP_JOIN; i++)
        t = &engine->thread[t->next.thread];
    return t->next.operation == OP_STOP;
}

/* No thread can go on: the schedule is over, or it hangs. */
static _Noreturn void stuck(void) {
    bool spins = false, over = true;
    char text[500];
    size_t used = 0;

    for (unsigned i = 0; i < engine->threads; i++) {
        const struct thread *t = &engine->thread[i];

        if (t->ended)
            continue;
        over = over && held_up_by_stop(t);
        spins = spins || t->next.operation == OP_YIELD;
        used += (size_t)waits_for(t, text + used, sizeof text - used);
    }
    if (over) {
        if (!engine->stops)
            items_end();
        threads_stop();
    }
    report_fault(spins ? FAULT_LIVELOCK : FAULT_DEADLOCK, "", "%s%s",
                 spins ? "No thread can make progress." : "No thread can run.", text);
}

static void append(candidates *c, unsigned *count, unsigned mask) {
    for (; mask; mask &= mask - 1)
        *c = candidate_added(*c, (*count)++, (unsigned)__builtin_ctz(mask));
}

/* Lists the threads that can go on: the running one first, if it is ready. Reports
 * whether another thread may be chosen without a preemption. */
static bool list_candidates(candidates *c, unsigned *count, const struct thread *current) {
    unsigned can[READY + 1] = {[READY] = engine->ready}; /* a mask for each readiness */
    unsigned n = 0;

    for (unsigned mask = engine->waiting; mask; mask &= mask - 1)
        can[thread_readiness(&engine->thread[__builtin_ctz(mask)])] |= mask & -mask;

    unsigned ready = can[READY];
    bool runs = ready >> current->number & 1;

    *c = 0;
    if (runs) {
        *c = candidate_added(0, n++, current->number);
        ready ^= 1u << current->number;
    }
    append(c, &n, ready);
    if (engine->waiting) {
        append(c, &n, can[BY_DEADLINE]);
        /* A wake-up without a reason is no rescue from a hang. Spinning threads look again when
         * nothing else goes on. */
        if (n)
            append(c, &n, can[SPURIOUS]);
        else
            for (unsigned mask = can[SPINNING]; mask; mask &= mask - 1)
                if (engine->thread[__builtin_ctz(mask)].looks < LOOKS)
                    append(c, &n, mask & -mask);
    }
    *count = n;
    return !runs;
}

/* The thread that a script names, and its number among the n candidates for the schedule. */
static struct thread *scripted(candidates c, unsigned n, bool free_choice) {
    struct thread *next = follow_thread();
    unsigned i = 0;
    bool given;

    while (i < n && candidate(c, i) != next->number)
        i++;
    if (n > 1)
        *next_decision(&given) = (struct decision){.chosen = (uint8_t)i, .of_thread = true};
    engine->preempted = !free_choice && i > 0;
    engine->preemptions += engine->preempted;
    if (thread_readiness(next) == SPINNING)
        next->looks++;
    return next;
}

/* Chooses the thread that goes on, or null: the running one stops and never goes on. */
static struct thread *choose(struct thread *current) {
    struct search *s = engine->search;
    candidates threads;
    unsigned n, chosen = 0, asleep = engine->asleep;
    bool free_choice = list_candidates(&threads, &n, current);

    if (!n)
        stuck();
    if (s->mode == SCRIPT)
        return scripted(threads, n, free_choice);

    uint32_t allowed = (1u << n) - 1;

    if (asleep)
        for (unsigned i = 0; i < n; i++)
            if (asleep >> candidate(threads, i) & 1)
                allowed &= ~(1u << i);
    if (n > 1 && s->mode == BOUNDED && !free_choice && engine->preemptions >= s->bound) {
        allowed = 1;
        s->bound_hit = true;
    }
    if (engine->stops < engine->stops_max && !current->ended &&
        current->next.operation != OP_STOP) {
        allowed |= 1u << n;
        threads = candidate_added(threads, n++, STOP);
    }
    if (!allowed) {
        engine->pruned = true;
        threads_stop();
    }
    if (n > 1) {
        const struct decision *d = choose_thread(threads, n, allowed, current);

        chosen = chosen_of(d, n);
        if (candidate(threads, chosen) == STOP)
            return NULL;
        if (s->mode == REDUCED) {
            asleep |= d->tried;
            engine->ends |= d->ended;
        }
    }

    struct thread *next = &engine->thread[candidate(threads, chosen)];

    engine->preempted = !free_choice && chosen > 0;
    engine->preemptions += engine->preempted;
    if (engine->waiting && thread_readiness(next) == SPINNING)
        next->looks++;
    if (asleep)
        engine->asleep = still_asleep(asleep, next);
    return next;
}

/* Chooses the thread that goes on. The running one may stop before that. */
static APART struct thread *choose_or_stop(struct thread *current) {
    struct thread *next;

    while (!(next = choose(current))) {
        thread_next(current, OP_STOP);
        engine->stops++;
        report_step(current, OP_STOP, NO_ORDER, current->pc, 0, 0);
    }
    return next;
}

struct thread *search_thread(struct thread *current) {
    /* Often no other thread is left, or the others wait for the end of this one. */
    if (engine->ready == 1u << current->number && !engine->waiting && !engine->asleep &&
        !engine->stops_max && engine->search->mode != SCRIPT) {
        engine->preempted = false;
        return current;
    }
    return choose_or_stop(current);
}

void search_looks(void) {
    engine->asleep &= (uint8_t)~engine->ends;
    for (unsigned u = 0; u < engine->threads; u++)
        if (engine->thread[u].next.writes)
            engine->asleep &= (uint8_t) ~(1u << u);
}

void search_ends(void) {
    const struct search *s = engine->search;

    for (uint32_t i = engine->depth; i-- > 0;)
        if (s->path[i].of_thread) {
            s->path[i].ends = true;
            return;
        }
}

bool search_next(struct search *s) {
    while (s->length > 0) {
        struct decision *d = &s->path[s->length - 1];

        if (d->of_thread && candidate(d->threads, d->chosen) != STOP) {
            uint8_t bit = (uint8_t)(1u << candidate(d->threads, d->chosen));

            d->tried |= bit;
            d->ended |= d->ends ? bit : 0;
        }
        d->ends = false;
        if (d->remaining) {
            d->chosen = (uint8_t)__builtin_ctz(d->remaining);
            d->remaining &= d->remaining - 1;
            return true;
        }
        s->length--;
    }
    return false;
}
