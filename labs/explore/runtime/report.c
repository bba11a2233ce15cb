/* What is told of a schedule: its steps, its fault and the result of the search, as JSON lines. */
#include "engine.h"
#include "report.h"

#include <stdarg.h>
#include <stdio.h>

enum { RECORDED_MAX = 1 << 16 };

void report_record(void) {
    engine->recorded = map_memory(RECORDED_MAX * sizeof *engine->recorded);
}

/* The step counted last, or null if there are more than can be recorded. */
static struct step *last_step(void) {
    return engine->steps <= RECORDED_MAX ? &engine->recorded[engine->steps - 1] : NULL;
}

void report_recorded(const struct thread *t, enum operation operation, int order, uintptr_t pc,
                     uintptr_t address, size_t size) {
    struct step *s = last_step();

    if (!s)
        return;
    *s = (struct step){.pc = pc,
                       .address = address,
                       .from = -2,
                       .thread = t->number,
                       .operation = (uint8_t)operation,
                       .order = (uint8_t)order,
                       .size = (uint8_t)size,
                       .preempted = engine->preempted};
    engine->preempted = false;
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
    int32_t last = (int32_t)engine->steps - 1;

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
    if (kind != FAULT_RACE && kind != FAULT_USE_AFTER_FREE && kind != FAULT_DOUBLE_FREE &&
        kind != FAULT_CHECK && kind != FAULT_CRASH && kind != FAULT_ABORT)
        *b = -1;
}

/* Plain accesses are told only where several threads touch the memory. */
static bool is_told(int32_t i, int32_t a, int32_t b) {
    const struct step *step = engine->recorded;

    if (i == a || i == b || (step[i].operation != OP_READ && step[i].operation != OP_WRITE))
        return true;
    for (uint32_t k = 0; k < engine->steps && k < RECORDED_MAX; k++)
        if (step[k].thread != step[i].thread && touches(&step[k], &step[i]))
            return true;
    return false;
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
    "load",   "store", "rmw",  "cas", "fence", "lock",  "trylock", "unlock", "park",
    "unpark", "start", "join", "end", "read",  "write", "free",    "yield"};
static const char *const order_names[] = {"rlx", "acq", "acq", "rel", "acq_rel", "sc", ""};
static const char *const fault_names[] = {"",         "check",          "race",        "deadlock",
                                          "livelock", "use-after-free", "double-free", "crash",
                                          "abort",    "limit"};

static void print_step(const struct step *s, const int32_t *told) {
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
        printf(",\"from\":%d", s->from < 0 ? -1 : told[s->from]);
    printf(",\"stale\":%s,\"preempted\":%s", s->stale ? "true" : "false",
           s->preempted ? "true" : "false");
    if (s->note) {
        printf(",\"note\":");
        print_text(s->note);
    }
    putchar('}');
}

void report_failure(void) {
    uint32_t steps = engine->steps < RECORDED_MAX ? engine->steps : RECORDED_MAX;
    int32_t *told = map_memory((steps + 1) * sizeof *told), n = 0, a, b;
    const char *comma = "";

    find_places(&a, &b);
    for (uint32_t i = 0; i < steps; i++)
        told[i] = is_told((int32_t)i, a, b) ? n++ : -1;
    printf(",\"fault\":{\"kind\":\"%s\",\"claim\":", fault_names[engine->fault.kind]);
    print_text(engine->fault.claim);
    printf(",\"text\":");
    print_text(engine->fault.text);
    printf(",\"a\":%d,\"b\":%d},\"schedule\":\"", a < 0 ? -1 : told[a], b < 0 ? -1 : told[b]);

    char *text = map_memory(DECISIONS_MAX + 1);

    schedule_write(engine->search->path, engine->depth, text, DECISIONS_MAX);
    printf("%s\",\"steps\":[", text);
    for (uint32_t i = 0; i < steps; i++) {
        if (told[i] < 0)
            continue;
        printf("%s", comma);
        print_step(&engine->recorded[i], told);
        comma = ",";
    }
    printf("]");
}
