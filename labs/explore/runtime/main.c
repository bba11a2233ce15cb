/* The program that explores: flags, the plan of the search, the result.
 *
 * The plan. Schedules with 0, 1, 2, ... preemptions are tried in this order, so that the first
 * fault has the fewest. In between, the reduced search gets about as many schedules as the bounded
 * ones had. If it tries them all, the program is correct. If it meets a fault, the bounded searches
 * go on to look for one with fewer preemptions. When half of the time is used up, random schedules
 * follow.
 */
#include "engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { CLOCK_STEPS = 1 << 13, AFTER_STEPS = 1 << 21, PRINTED = 1 << 16, MAPPING_GAP = 1 << 20 };

/* Below the end of the smallest address space that Linux gives a process of 64 bits, 2^39. */
static const uintptr_t first_mapping = (uintptr_t)1 << 37;

struct plan {
    int preemptions; /* -1: no limit */
    uint64_t schedules;
    double seconds;
    uint64_t seed;
    bool random, all;
    const char *replay;
    char **scripts; /* the last arguments, each a script; or null */
};

/* How a search went on. */
enum outcome { COMPLETE, FAILED, INTERRUPTED };

struct run {
    struct plan plan;
    double begin, reported;
    uint64_t schedules, pruned, random;
    bool outcomes[OUTCOMES];
    size_t mapped;      /* bytes, from the engine on */
    uint64_t unchecked; /* steps since the last look at the clock */
    struct search bounded, reduced, chance, replayed, after;
    struct decision *failing; /* the schedule with the fewest preemptions that failed */
    uint32_t failing_length;
    int failing_preemptions; /* -1: none failed */
    int bound;               /* the bounded search with that many preemptions is the last one that
                                ended, with all values; -1: none */
};

/* Until main has mapped the runtime: constructors of the program run before. */
static const struct engine before_main;
struct engine *engine = (struct engine *)&before_main;
static struct run *run;

_Noreturn void __real_exit(int status);

static _Noreturn void no_memory(size_t size) {
    fprintf(stderr, "explore: no memory: %zu bytes more are needed\n", size);
    __real_exit(2);
}

void main_misused(const char *what) {
    fprintf(stderr, "explore: %s\n", what);
    _exit(2);
}

void *map_program(size_t size) {
    static uintptr_t mapped;
    void *p = mmap((void *)(first_mapping + mapped), size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED)
        no_memory(size);
    mapped += size + MAPPING_GAP;
    return p;
}

static size_t whole_pages(size_t size) {
    return (size + 4095) & ~(size_t)4095;
}

void *map_memory(size_t size) {
    char *p = (char *)engine + run->mapped;

    if (size > RUNTIME_REGION || whole_pages(size) > RUNTIME_REGION - run->mapped)
        no_memory(size);
    run->mapped += whole_pages(size);
    return p;
}

/* Maps the region of map_memory, with the engine at its start, and malloc's region behind it. */
static void map_runtime(void) {
    engine = map_program(RUNTIME_REGION + HEAP_REGION);
    run = (struct run *)(engine + 1);
    run->mapped = whole_pages(sizeof *engine + sizeof *run);
}

static double now(void) {
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Running schedules. */

static void run_schedule(struct search *s) {
    engine->search = s;
    engine->schedule++;
    engine->steps = engine->visible = engine->silent = 0;
    engine->changes = 1;
    engine->depth = 0;
    engine->preemptions = 0;
    engine->stops = 0;
    engine->asleep = engine->ends = engine->ready = engine->waiting = 0;
    engine->preempted = engine->pruned = false;
    engine->sc_stores = 0;
    engine->sc_view = engine->sc_hb = engine->sc_cause = engine->sc_fences_cause = (vclock){0};
    engine->looks_cause = (vclock){0};
    engine->fault.kind = FAULT_NONE;
    engine->outcome = -1;
    globals_restore();
    places_clear();
    items_clear();
    heap_clear();
    threads_run();
}

static void keep_failure(const struct search *s) {
    if (run->failing_preemptions >= 0 && run->failing_preemptions <= engine->preemptions)
        return;
    run->failing_preemptions = engine->preemptions;
    run->failing_length = engine->depth;
    for (uint32_t i = 0; i < engine->depth; i++)
        run->failing[i] = s->path[i];
}

/* The program may have printed part of a line, so a new one begins. */
static void print_progress(const struct search *s) {
    printf("\n{\"progress\":{\"bound\":%d,\"schedules\":%llu}}\n",
           s->mode == BOUNDED ? s->bound : -1, (unsigned long long)run->schedules);
    fflush(stdout);
}

/* Goes on with a search for at most that many schedules, until a moment in seconds. */
static enum outcome advance(struct search *s, uint64_t budget, double until) {
    for (uint64_t i = 0; i < budget; i++) {
        if (s->done)
            return COMPLETE;
        if (run->schedules >= run->plan.schedules)
            return INTERRUPTED;
        if (run->unchecked >= CLOCK_STEPS) {
            double t = now();

            run->unchecked = 0;
            if (t - run->begin > until)
                return INTERRUPTED;
            if (t - run->reported > 0.5) {
                run->reported = t;
                print_progress(s);
            }
        }
        if (s->mode == RANDOM)
            search_shuffle(s);
        run_schedule(s);
        run->unchecked += 64 + engine->steps; /* to start a schedule takes time, too */
        if (engine->fault.kind == FAULT_LIVELOCK)
            run->unchecked = CLOCK_STEPS; /* it may have been ended by the clock */
        if (engine->pruned) {
            run->pruned++;
            s->pruned++;
        } else {
            run->schedules++;
            s->schedules++;
            run->random += s->mode == RANDOM;
        }

        bool failed = engine->fault.kind != FAULT_NONE;

        if (failed)
            keep_failure(s);
        else if (engine->outcome >= 0 && !engine->pruned)
            run->outcomes[engine->outcome] = true;
        if (s->mode != RANDOM)
            s->done = !search_next(s);
        if (failed && !run->plan.all)
            return FAILED;
    }
    return s->done ? COMPLETE : INTERRUPTED;
}

/* All schedules with at most a number of preemptions, from 0 to most. */
static enum outcome try_bounds(int most, double until, bool reduced_too) {
    uint64_t budget = 2000;

    for (int bound = 0; bound <= most; bound++) {
        struct search *s = &run->bounded;
        uint64_t before = run->schedules;

        s->bound = bound;
        s->length = 0;
        s->done = s->bound_hit = false;
        s->schedules = s->pruned = 0;

        enum outcome o = advance(s, UINT64_MAX, until);

        if (o != COMPLETE)
            return o;
        if (!s->options_hit)
            run->bound = bound;
        if (!s->bound_hit)
            return COMPLETE;
        if (!reduced_too || run->failing_preemptions >= 0)
            continue;
        if (budget < run->schedules - before)
            budget = run->schedules - before;
        o = advance(&run->reduced, budget, until);
        budget *= 2;
        if (o == COMPLETE)
            return COMPLETE;
        if (o == FAILED)
            most = run->failing_preemptions - 1;
    }
    return COMPLETE;
}

/* Runs the plan. Returns the search that was complete, or null. */
static struct search *explore(void) {
    struct plan *p = &run->plan;
    double half = p->seconds / 2;
    enum outcome o = INTERRUPTED;

    if (!p->random) {
        if (p->all) {
            o = advance(&run->reduced, UINT64_MAX, p->seconds);
            return o == COMPLETE && !run->reduced.options_hit ? &run->reduced : NULL;
        }

        bool limited = p->preemptions >= 0;

        o = try_bounds(limited ? p->preemptions : 1 << 20, limited ? p->seconds : half, !limited);
        if (run->failing_preemptions >= 0)
            return NULL;
        if (o == COMPLETE) {
            struct search *s = run->reduced.done ? &run->reduced : &run->bounded;

            return s->options_hit ? NULL : s;
        }
        if (limited)
            return NULL;
    }
    advance(&run->chance, UINT64_MAX, p->seconds);
    return NULL;
}

/* Runs a schedule once more and records it. */
static void replay(struct decision *path, uint32_t length) {
    struct search *s = &run->replayed;

    for (uint32_t i = 0; i < length; i++)
        s->path[i] = path[i];
    s->length = length;
    report_record(true);
    run_schedule(s);
}

/* Looks for the point of no return of the failing schedule: tries what else could have followed on
 * its decisions, the last one first, until a schedule does not fail. Returns with how many of the
 * decisions every schedule fails, and with one less not; -1: there were too many to try. */
static int64_t no_return(void) {
    struct search *s = &run->after;
    int64_t kept = run->failing_length; /* decisions that the schedules tried last begin with */
    uint64_t steps = 0;

    for (uint32_t i = 0; i < run->failing_length; i++) {
        struct decision *d = &s->path[i];

        *d = run->failing[i];
        d->tried = 0;
        d->remaining = (uint32_t)((1ull << d->alternatives) - 1) & ~(1u << d->chosen);
    }
    s->length = run->failing_length;
    while (search_next(s)) {
        if (kept >= s->length)
            kept = s->length - 1;
        run_schedule(s);
        steps += 64 + engine->steps;
        if (s->options_hit || engine->fault.kind == FAULT_LIMIT || steps > AFTER_STEPS)
            return -1;
        if (engine->fault.kind == FAULT_NONE && !engine->pruned)
            return kept + 1;
    }
    return 0;
}

/* Returns the exit status. */
static int print_result(const struct search *complete) {
    double seconds = now() - run->begin;
    bool failed = run->failing_preemptions >= 0;
    const char *comma = "";
    struct bound pct;
    int bound = complete == &run->reduced ? -1 : run->bound;
    int64_t decided = -1;

    if (failed) {
        if (!run->plan.replay) {
            decided = no_return();
            replay(run->failing, run->failing_length);
        }
        if (engine->fault.kind == FAULT_NONE) {
            fprintf(stderr,
                    "explore: a schedule that failed does not fail again: the program depends on "
                    "more than the schedule, such as a local variable without a first value, the "
                    "time or rand\n");
            return 2;
        }
    }
    printf("\n{\"result\":{\"verdict\":\"%s\",\"complete\":%s,\"bound\":%d,\"schedules\":%llu,"
           "\"executions_pruned\":%llu,\"seconds\":%.6f,\"seed\":%llu,\"random\":%llu,"
           "\"outcomes\":[",
           failed ? "fail" : "pass", complete ? "true" : "false", bound,
           (unsigned long long)(complete ? complete->schedules : run->schedules),
           (unsigned long long)(complete ? complete->pruned : run->pruned), seconds,
           (unsigned long long)run->plan.seed, (unsigned long long)run->random);
    for (int i = 0; i < OUTCOMES; i++) {
        if (!run->outcomes[i])
            continue;
        printf("%s%d", comma, i);
        comma = ",";
    }
    printf("]");
    if (!failed && search_bound(&pct))
        printf(",\"pct\":{\"threads\":%u,\"choices\":%u,\"divisor\":%u,\"schedules\":%llu}",
               pct.threads, pct.choices, pct.divisor, (unsigned long long)pct.schedules);
    if (failed)
        report_failure(decided);
    printf("}}\n");
    return failed;
}

/* Runs each script once and prints what happened. */
static _Noreturn void follow(char **scripts) {
    report_record(false);
    engine->steps_max = 2 * STEPS_MAX; /* since its threads do not give way when they spin */
    for (; *scripts; scripts++) {
        engine->script = *scripts;
        run->replayed.length = 0;
        run_schedule(&run->replayed);
        follow_report();
        fflush(stdout); /* in a static program its state is a global variable, too */
    }
    _exit(0);
}

static _Noreturn void misuse(const char *what, const char *flag) {
    fprintf(stderr,
            "explore: %s %s\n"
            "use: [--preemptions N] [--schedules N] [--seconds S] [--seed N] [--random] [--all]\n"
            "     [--replay SCHEDULE] [--stops N, at most %d] [--follow SCRIPT ...]\n",
            what, flag, THREADS - 1);
    __real_exit(2);
}

static double number(const char *flag, const char *text, double most) {
    char *end;
    double value = text ? strtod(text, &end) : -1;

    if (!text || end == text || *end || !(value >= 0 && value <= most))
        misuse("no such number for", flag);
    return value;
}

static void read_flags(struct plan *p, int argc, char **argv) {
    *p = (struct plan){.preemptions = -1, .schedules = UINT64_MAX, .seconds = 10, .seed = 1};
    engine->steps_max = STEPS_MAX;
    for (int i = 1; i < argc; i++) {
        const char *flag = argv[i], *next = argv[i + 1];

        if (!strcmp(flag, "--random")) {
            p->random = true;
            continue;
        }
        if (!strcmp(flag, "--all")) {
            p->all = true;
            continue;
        }
        if (!strcmp(flag, "--follow")) {
            p->scripts = argv + i + 1;
            return;
        }
        i++;
        if (!strcmp(flag, "--preemptions"))
            p->preemptions = (int)number(flag, next, 1e6);
        else if (!strcmp(flag, "--schedules"))
            p->schedules = (uint64_t)number(flag, next, 1e18);
        else if (!strcmp(flag, "--seconds"))
            p->seconds = number(flag, next, 1e9);
        else if (!strcmp(flag, "--seed"))
            p->seed = (uint64_t)number(flag, next, 1e15);
        else if (!strcmp(flag, "--stops"))
            engine->stops_max = (unsigned)number(flag, next, THREADS - 1);
        else if (!strcmp(flag, "--replay") && next)
            p->replay = next;
        else
            misuse("what is", flag);
    }
    if (p->all && (p->random || p->preemptions >= 0))
        misuse("all outcomes need all schedules: leave out --random and --preemptions beside",
               "--all");
}

int main(int argc, char **argv) {
    map_runtime();
    /* In a static program, the memory of malloc would be forgotten with the global variables. */
    setvbuf(stdout, map_memory(PRINTED), _IOFBF, PRINTED);
    read_flags(&run->plan, argc, argv);
    run->failing = map_memory(DECISIONS_MAX * sizeof *run->failing);
    run->failing_preemptions = run->bound = -1;
    search_map(&run->bounded, BOUNDED);
    search_map(&run->reduced, REDUCED);
    search_map(&run->chance, RANDOM);
    search_map(&run->replayed, run->plan.scripts ? SCRIPT : REPLAY);
    search_map(&run->after, REDUCED);
    search_seed(run->plan.seed);
    threads_map();
    places_map();
    items_map();
    heap_map();
    signals_catch();
    globals_save();
    run->begin = run->reported = now();

    struct search *complete = NULL;

    if (run->plan.scripts)
        follow(run->plan.scripts);
    if (run->plan.replay) {
        struct decision *path = map_memory(DECISIONS_MAX * sizeof *path);
        const char *text = run->plan.replay;
        int length = schedule_read(text, path, DECISIONS_MAX - 1);

        if (length < 0)
            misuse("no schedule:", text);
        replay(path, (uint32_t)length);
        if (run->replayed.misfit ||
            (engine->depth < run->replayed.length && strcmp(text, "a") != 0))
            misuse("of another program, or of other flags, is the schedule", text);
        run->schedules = 1;
        if (engine->fault.kind != FAULT_NONE)
            run->failing_preemptions = engine->preemptions;
    } else {
        complete = explore();
    }

    int status = print_result(complete);

    fflush(stdout);
    _exit(status);
}
