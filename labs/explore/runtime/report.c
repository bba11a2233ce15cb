/* What is reported of a schedule: its steps, its fault and the result of the search, as JSON lines.
 */
#include "engine.h"

#include <stdarg.h>
#include <stdio.h>

enum { RECORDED_MAX = 1 << 16 };

void report_record(bool calls) {
    engine->recorded = map_memory(RECORDED_MAX * sizeof *engine->recorded);
    if (!calls)
        return;
    engine->callers = map_memory(RECORDED_MAX * sizeof *engine->callers);
    engine->entered = map_memory(ENTERED_MAX * sizeof *engine->entered);
    engine->calls = map_memory(CALLS_MAX * sizeof *engine->calls);
}

/* Which stack an address is on: a thread's, or one of the program's own, from malloc or static. */
static uint64_t stack_of(uintptr_t frame) {
    size_t offset;
    unsigned block = heap_block(frame, &offset);

    if (block)
        return THREADS + 1u + block;
    return threads_have(frame) ? engine->current->number : THREADS;
}

/* A function with a frame at this address, or above, is the only one of its stack that can run. */
APART void report_returned(uintptr_t frame) {
    uint64_t stack = stack_of(frame);
    unsigned kept = 0;

    for (unsigned i = 0; i < engine->calls_n; i++)
        if (engine->calls[i].stack != stack || engine->calls[i].frame > frame)
            engine->calls[kept++] = engine->calls[i];
    engine->calls_n = kept;
}

APART void report_entered(uintptr_t frame, uintptr_t caller, uintptr_t pc) {
    report_returned(frame);
    if (engine->calls_n < CALLS_MAX)
        engine->calls[engine->calls_n++] =
            (struct call){.pc = caller, .frame = frame, .stack = stack_of(frame)};
    if (engine->entered_n < ENTERED_MAX)
        engine->entered[engine->entered_n++] =
            (struct entered){.pc = pc, .steps = engine->steps, .thread = engine->current->number};
}

/* Notes the functions on the stack of the step that was recorded last. */
static void note_callers(void) {
    struct callers *c = &engine->callers[engine->steps - 1];
    uint64_t stack = stack_of((uintptr_t)__builtin_frame_address(0));

    c->n = 0;
    for (unsigned i = engine->calls_n; i-- > 0 && c->n < CALLERS;)
        if (engine->calls[i].stack == stack)
            c->pc[c->n++] = engine->calls[i].pc;
}

/* The step counted last, or null if there are more than can be recorded. */
static struct step *last_step(void) {
    return engine->steps <= RECORDED_MAX ? &engine->recorded[engine->steps - 1] : NULL;
}

/* Notes what the plain write before the step s left in memory. An access of many bytes makes
 * several steps before it happens, so nothing is noted for these. */
static void note_written(const struct step *s) {
    struct step *before = last_step();

    if (!before || before->operation != OP_WRITE || before->has_stored ||
        (s->operation == OP_WRITE && s->address == before->address + before->size))
        return;
    if (before->size != 1 && before->size != 2 && before->size != 4 && before->size != 8)
        return;
    before->stored = memory_read(before->address, before->size);
    before->has_stored = true;
}

void report_recorded(const struct thread *t, enum operation operation, int order, uintptr_t pc,
                     uintptr_t address, size_t size) {
    struct step s = {.pc = pc,
                     .address = address,
                     .from = -2,
                     .thread = t->number,
                     .operation = (uint8_t)operation,
                     .order = (uint8_t)order,
                     .size = (uint32_t)size,
                     .preempted = engine->preempted,
                     .decisions = engine->depth};
    size_t offset = 0;

    if (engine->steps)
        note_written(&s);
    engine->steps++;
    engine->preempted = false;
    s.block = heap_block(address, &offset);
    s.offset = (uint32_t)offset;

    struct step *last = last_step();

    if (!last)
        return;
    *last = s;
    if (engine->calls)
        note_callers();
    if (operation == OP_READ && (size == 1 || size == 2 || size == 4 || size == 8)) {
        last->value = memory_read(address, size); /* which may be what crashes the program */
        last->has_value = true;
    }
}

void report_recorded_value(uint64_t value, int32_t from, bool stale) {
    struct step *s = last_step();

    if (!s)
        return;
    s->value = value;
    s->from = from;
    s->stale = stale;
    s->has_value = true;
}

void report_recorded_stored(uint64_t value) {
    struct step *s = last_step();

    if (!s)
        return;
    s->stored = value;
    s->has_stored = true;
}

void report_recorded_note(const char *note) {
    struct step *s = last_step();

    if (s)
        s->note = note;
}

void report_fault(enum fault_kind kind, const char *claim, const char *format, ...) {
    struct fault *f = &engine->fault;
    va_list args;

    f->kind = kind;
    snprintf(f->claim, sizeof f->claim, "%s", claim);
    va_start(args, format);
    vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
    threads_stop();
}

static uint32_t recorded_steps(void) {
    return engine->steps < RECORDED_MAX ? engine->steps : RECORDED_MAX;
}

static bool writes(const struct step *s) {
    return s->operation == OP_WRITE || s->operation == OP_FREE || s->has_stored;
}

static bool touches(const struct step *s, const struct step *other) {
    return s->address && s->address < other->address + other->size &&
           other->address < s->address + s->size;
}

/* The two places of a fault: b is its last step, a the earlier one that it collides with. */
static void find_places(int32_t *a, int32_t *b) {
    const struct step *step = engine->recorded;
    enum fault_kind kind = engine->fault.kind;
    int32_t last = (int32_t)recorded_steps() - 1;

    *a = -1;
    *b = last;
    for (int32_t i = last - 1; last >= 0 && i >= 0 && *a < 0; i--) {
        bool other = step[i].thread != step[last].thread && touches(&step[i], &step[last]);

        if (kind == FAULT_RACE && other && (writes(&step[i]) || writes(&step[last])))
            *a = i;
        if ((kind == FAULT_USE_AFTER_FREE || kind == FAULT_DOUBLE_FREE) &&
            step[i].operation == OP_FREE && touches(&step[i], &step[last]))
            *a = i;
    }
    if (engine->steps > RECORDED_MAX)
        *a = *b = -1;
    else if (kind == FAULT_DOUBLE_TAKE)
        *a = step[last].from;
    else if (kind != FAULT_RACE && kind != FAULT_USE_AFTER_FREE && kind != FAULT_DOUBLE_FREE &&
             kind != FAULT_CHECK && kind != FAULT_CRASH && kind != FAULT_ABORT)
        *b = -1;
}

/* Plain accesses are shown only where several threads touch the memory. */
static bool is_shown(int32_t i, int32_t a, int32_t b) {
    const struct step *step = engine->recorded;

    if (i == a || i == b || (step[i].operation != OP_READ && step[i].operation != OP_WRITE))
        return true;
    return place_shared(step[i].address, step[i].size);
}

static void print_text(const char *text) {
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else if ((unsigned char)*text < 32)
            printf("\\u%04x", *text);
        else
            putchar(*text);
    }
    putchar('"');
}

static const char *const operation_names[] = {
    "load",   "store", "rmw",    "cas",   "fence", "lock",   "trylock",
    "unlock", "park",  "unpark", "start", "join",  "end",    "read",
    "write",  "free",  "yield",  "put",   "take",  "choose", "stop"};
static const char *const order_names[] = {"rlx", "acq", "acq", "rel", "acq_rel", "sc", ""};
static const char *const fault_names[] = {"",         "check",          "race",        "deadlock",
                                          "livelock", "use-after-free", "double-free", "crash",
                                          "abort",    "limit",          "double-take", "lost"};

/* Prints the functions that a thread, or any (-1), has entered up to that step, and that were not
 * printed before. */
static void print_entered(int thread, uint32_t step) {
    static unsigned first; /* those before it were printed */
    unsigned n = 0;

    while (first < engine->entered_n && !engine->entered[first].pc)
        first++;
    for (unsigned i = first; i < engine->entered_n && engine->entered[i].steps <= step; i++) {
        struct entered *e = &engine->entered[i];

        if (!e->pc || (thread >= 0 && e->thread != thread))
            continue;
        printf("%s\"0x%lx\"", n++ ? "," : ",\"entered\":[", (unsigned long)e->pc);
        e->pc = 0;
    }
    printf("%s", n ? "]" : "");
}

static void print_step(const struct step *s, const struct callers *callers, const int32_t *shown) {
    printf("{\"thread\":%u,\"pc\":\"0x%lx\",\"op\":\"%s\"", s->thread, (unsigned long)s->pc,
           operation_names[s->operation]);
    if (s->order != NO_ORDER)
        printf(",\"order\":\"%s\"", order_names[s->order]);
    if (s->address)
        printf(",\"address\":\"0x%lx\",\"size\":%u", (unsigned long)s->address, s->size);
    if (s->has_value)
        printf(",\"value\":%llu", (unsigned long long)s->value);
    if (s->has_stored)
        printf(",\"stored\":%llu", (unsigned long long)s->stored);
    if (s->from != -2)
        printf(",\"from\":%d", s->from < 0 ? -1 : shown[s->from]);
    if (s->block)
        printf(",\"block\":%u,\"offset\":%u", s->block, s->offset);
    printf(",\"stale\":%s,\"preempted\":%s", s->stale ? "true" : "false",
           s->preempted ? "true" : "false");
    if (s->note) {
        printf(",\"note\":");
        print_text(s->note);
    }
    for (unsigned i = 0; callers && i < callers->n; i++)
        printf("%s\"0x%lx\"", i ? "," : ",\"callers\":[", (unsigned long)callers->pc[i]);
    printf("%s", callers && callers->n ? "]" : "");
    if (callers)
        print_entered(s->thread, (uint32_t)(s - engine->recorded));
    printf("}");
}

/* What each thread waits for that has not ended. */
static void print_waits(void) {
    const char *comma = "";

    printf(",\"waits\":[");
    for (unsigned i = 0; i < engine->threads; i++) {
        const struct thread *t = &engine->thread[i];
        const struct event *e = &t->next;

        if (t->ended || thread_readiness(t) == READY)
            continue;
        printf(
            "%s{\"thread\":%u,\"pc\":\"0x%lx\",\"for\":\"%s\",\"address\":\"0x%lx\",\"holder\":%d}",
            comma, i, (unsigned long)t->pc,
            e->operation == OP_LOCK   ? "lock"
            : e->operation == OP_JOIN ? "join"
            : e->operation == OP_PARK ? "park"
            : e->operation == OP_STOP ? "stop"
                                      : "spin",
            (unsigned long)(e->operation == OP_LOCK ? e->address : 0),
            e->operation == OP_LOCK   ? e->mutex->owner - 1
            : e->operation == OP_JOIN ? e->thread
                                      : -1);
        comma = ",";
    }
    printf("]");
}

void report_schedule(void) {
    char *text = map_memory(DECISIONS_MAX + 1);

    schedule_write(engine->search->path, engine->depth, text, DECISIONS_MAX);
    printf("%s", text);
}

void report_all(void) {
    uint32_t steps = recorded_steps();

    printf("\"fault\":\"%s\",\"text\":", fault_names[engine->fault.kind]);
    print_text(engine->fault.text);
    printf(",\"steps\":[");
    for (uint32_t i = 0; i < steps; i++) {
        struct step s = engine->recorded[i];

        s.from = -2; /* an index among all steps */
        printf("%s", i ? "," : "");
        print_step(&s, NULL, NULL);
    }
    printf("]");
}

/* The step that the last of the first n decisions is about; -1 if n is 0. A choice of a thread is
 * made before the step, a choice of a value in it. */
static int32_t decided_step(int64_t n) {
    int32_t i = 0, steps = (int32_t)recorded_steps();

    if (n == 0)
        return -1;
    while (i < steps && engine->recorded[i].decisions < n)
        i++;
    if (!engine->search->path[n - 1].of_thread || i == steps)
        i--;
    return i;
}

void report_failure(int64_t decided) {
    uint32_t steps = recorded_steps();
    int32_t *shown = map_memory((steps + 1) * sizeof *shown), n = 0, a, b;
    const char *comma = "";

    find_places(&a, &b);
    for (uint32_t i = 0; i < steps; i++)
        shown[i] = is_shown((int32_t)i, a, b) ? n++ : -1;
    printf(",\"fault\":{\"kind\":\"%s\",\"claim\":", fault_names[engine->fault.kind]);
    print_text(engine->fault.claim);
    printf(",\"text\":");
    print_text(engine->fault.text);
    printf(",\"a\":%d,\"b\":%d", a < 0 ? -1 : shown[a], b < 0 ? -1 : shown[b]);
    if (engine->fault.kind == FAULT_DEADLOCK || engine->fault.kind == FAULT_LIVELOCK)
        print_waits();
    printf("}");
    if (decided >= 0) {
        int32_t i = decided_step(decided);

        printf(",\"no_return\":%d", i < 0 ? -1 : shown[i]);
    }
    printf(",\"schedule\":\"");

    report_schedule();
    printf("\",\"steps\":[");
    for (uint32_t i = 0; i < steps; i++) {
        if (shown[i] < 0)
            continue;
        printf("%s", comma);
        print_step(&engine->recorded[i], &engine->callers[i], shown);
        comma = ",";
    }
    printf("]");
    print_entered(-1, UINT32_MAX);
}
