/* Which schedules are tried, in which order.
 *
 * A schedule is a list of decisions: which thread goes on before a visible step, and which of
 * several values a step reads. Schedules are tried depth first: run one from the start, then change
 * the last decision that has an alternative left.
 *
 * BOUNDED tries all schedules with at most `bound` preemptions: choices of another thread although
 * the running one could go on. Nothing else is left out.
 *
 * REDUCED tries at least one schedule of each class of equivalent ones, whatever its preemptions,
 * with sleep sets. Two steps are dependent if one could see that they changed places: they touch
 * one object and one of them writes, both are seq_cst and one is a fence, or one is a yield. After
 * all continuations of a state that begin with thread u were tried, u sleeps in the state's other
 * continuations until a step is done that depends on u's next one. A schedule that wakes u before
 * that equals, step for step but for the order of independent ones, a schedule in which u came
 * first, so it was tried; a schedule in which all threads that could run sleep is given up. What a
 * thread may choose in its next step (values, failures, deadlines) depends only on steps that its
 * step depends on, so a thread sleeps with all its choices. The loads that model.c leaves out are
 * decided by what led to a step, which is the same in equivalent schedules.
 *
 * RANDOM gives the threads random priorities and runs the one with the highest; at a few random
 * moments the running thread falls to the lowest (PCT, probabilistic concurrency testing: a fault
 * that needs d orderings among n threads and k steps is hit with a probability of at least
 * 1 / (n k^(d-1))). */
#include "engine.h"

#include <stdio.h>

enum { LOOKS = 4, CHANGE_POINTS = 4 };

/* For mode RANDOM. */
struct dice {
    uint64_t state;
    int priority[THREADS];
    uint32_t change[CHANGE_POINTS];
    unsigned changes;
    uint32_t moments; /* choices of threads so far in this schedule */
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
    return (z ^ (z >> 31)) % sides;
}

void search_shuffle(struct search *s) {
    s->length = 0;
    for (int i = 0; i < THREADS; i++)
        dice->priority[i] = CHANGE_POINTS + (int)roll(1 << 20);
    dice->changes = (unsigned)roll(CHANGE_POINTS + 1);
    for (unsigned i = 0; i < dice->changes; i++)
        dice->change[i] = (uint32_t)roll(engine->random_steps ? engine->random_steps : 1);
    dice->moments = 0;
}

static unsigned random_thread(const struct decision *d, const struct thread *current) {
    unsigned best = 0;

    for (unsigned i = 0; i < dice->changes; i++)
        if (dice->change[i] == dice->moments)
            dice->priority[current->number] = CHANGE_POINTS - 1 - (int)i;
    if (current->next.operation == OP_YIELD)
        dice->priority[current->number] = -(int)dice->moments;
    dice->moments++;
    if (dice->moments > engine->random_steps)
        engine->random_steps = dice->moments;
    for (unsigned i = 1; i < d->alternatives; i++)
        if (dice->priority[d->thread[i]] > dice->priority[d->thread[best]])
            best = i;
    return best;
}

/* Takes the decision d, new or given; allowed has a bit for each alternative that is to be tried.
 */
static struct decision *decide(struct decision d, uint32_t allowed, const struct thread *current) {
    struct search *s = engine->search;
    struct decision *given = &s->path[engine->depth];

    if (engine->depth++ < s->length)
        return given;
    if (engine->depth >= DECISIONS_MAX)
        report_fault(FAULT_LIMIT, "", "The schedule has more than %d choices.", DECISIONS_MAX);
    s->length = engine->depth;
    if (s->mode == RANDOM)
        d.chosen = (uint8_t)(d.of_thread ? random_thread(&d, current)
                             : roll(2)   ? 0
                                         : roll(d.alternatives));
    else if (s->mode == REPLAY)
        d.chosen = 0;
    else
        d.chosen = (uint8_t)__builtin_ctz(allowed);
    d.remaining = allowed & ~(1u << d.chosen);
    *given = d;
    return given;
}

unsigned search_value(unsigned n, uint32_t allowed) {
    struct decision d = {.alternatives = (uint8_t)n};

    if (engine->search->mode != REDUCED)
        allowed = (uint32_t)((1ull << n) - 1);

    unsigned chosen = decide(d, allowed, NULL)->chosen;

    return chosen < n ? chosen : 0;
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
    default:
        return snprintf(text, size, " Thread %u spins, and nothing changes what it reads.",
                        t->number);
    }
}

/* No thread can go on: the schedule is over, or it hangs. */
static _Noreturn void stuck(void) {
    bool spins = false;
    char text[500];
    size_t used = 0;

    for (unsigned i = 0; i < engine->threads; i++) {
        const struct thread *t = &engine->thread[i];

        if (t->ended)
            continue;
        spins = spins || t->next.operation == OP_YIELD;
        used += (size_t)waits_for(t, text + used, sizeof text - used);
    }
    if (!used)
        threads_stop();
    report_fault(spins ? FAULT_LIVELOCK : FAULT_DEADLOCK, "", "%s%s",
                 spins ? "No thread can make progress." : "No thread can run.", text);
}

/* Lists the threads that can go on: the running one first, if it needs no reason. */
static void candidates(struct decision *d, const struct thread *current, bool *free_choice) {
    unsigned n = 0;
    bool progress = false;

    *free_choice = true;
    if (thread_readiness(current) == READY) {
        d->thread[n++] = current->number;
        *free_choice = false;
        progress = true;
    }
    for (int level = READY; level >= SPINNING; level--) {
        /* A wake-up without a reason is no rescue from a hang. Spinning threads look again when
         * nothing else goes on. */
        if ((level == SPURIOUS && !progress) || (level == SPINNING && progress))
            continue;
        for (unsigned i = 0; i < engine->threads; i++) {
            struct thread *t = &engine->thread[i];

            if ((int)thread_readiness(t) != level || (t == current && level == READY) ||
                (level == SPINNING && t->looks >= LOOKS))
                continue;
            d->thread[n++] = (uint8_t)i;
            progress = true;
        }
    }
    d->alternatives = (uint8_t)n;
}

struct thread *search_thread(struct thread *current) {
    struct search *s = engine->search;
    struct decision fresh = {.of_thread = true, .asleep = engine->asleep};
    bool free_choice;
    unsigned chosen = 0;

    if (engine->steps >= engine->steps_max)
        report_fault(FAULT_LIMIT, "", "The schedule has more than %u steps.", engine->steps_max);
    candidates(&fresh, current, &free_choice);
    if (!fresh.alternatives)
        stuck();

    unsigned asleep = engine->asleep;
    bool reduced = s->mode == REDUCED;

    if (fresh.alternatives > 1) {
        uint32_t allowed = (1u << fresh.alternatives) - 1;

        if (s->mode == BOUNDED && !free_choice && engine->preemptions >= s->bound) {
            allowed = 1;
            s->bound_hit = true;
        } else if (reduced && asleep) {
            for (unsigned i = 0; i < fresh.alternatives; i++)
                if (asleep >> fresh.thread[i] & 1)
                    allowed &= ~(1u << i);
        }
        if (!allowed) {
            engine->pruned = true;
            threads_stop();
        }

        const struct decision *d = decide(fresh, allowed, current);

        chosen = d->chosen < fresh.alternatives ? d->chosen : 0;
        asleep |= d->tried;
    } else if (reduced && (asleep >> fresh.thread[0] & 1)) {
        engine->pruned = true;
        threads_stop();
    }

    struct thread *next = &engine->thread[fresh.thread[chosen]];

    engine->preempted = !free_choice && chosen > 0;
    engine->preemptions += engine->preempted;
    if (thread_readiness(next) == SPINNING)
        next->looks++;
    if (asleep)
        engine->asleep = still_asleep(asleep, next);
    return next;
}

bool search_next(struct search *s) {
    while (s->length > 0) {
        struct decision *d = &s->path[s->length - 1];

        if (d->of_thread)
            d->tried |= (uint8_t)(1u << d->thread[d->chosen]);
        if (d->remaining) {
            d->chosen = (uint8_t)__builtin_ctz(d->remaining);
            d->remaining &= d->remaining - 1;
            return true;
        }
        s->length--;
    }
    return false;
}
