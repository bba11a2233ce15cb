/* Items: values that the program hands from thread to thread, each of which is taken once for each
 * time that it is put.
 *
 * The calls are no visible steps, and order nothing. So whether they fail must not depend on the
 * order of steps that are independent. Each call must have been led to by the last one with the
 * same value: that one is in its thread's cause (see model.c). Two calls of which neither led to
 * the other fail in any order. */
#include "engine.h"

#define PC ((uintptr_t)__builtin_return_address(0))

enum { ITEMS_MAX = 1024 };

/* The last call with one value. */
struct item {
    unsigned long value;
    int32_t step;
    uint16_t time; /* of the visible step that follows it, in its thread */
    uint8_t thread;
    bool put; /* otherwise taken */
};

struct items {
    struct item item[ITEMS_MAX];
    unsigned count;
};

static struct items *items;

void items_map(void) {
    items = map_memory(sizeof *items);
}

void items_clear(void) {
    items->count = 0;
}

static struct item *find(unsigned long value) {
    for (unsigned i = 0; i < items->count; i++)
        if (items->item[i].value == value)
            return &items->item[i];
    return NULL;
}

static bool led_to(const struct item *last, const struct thread *t) {
    return last->thread == t->number || t->cause[last->thread] >= last->time;
}

static void note(struct item *x, bool put) {
    const struct thread *t = engine->current;

    x->put = put;
    x->step = (int32_t)engine->steps - 1;
    x->time = t->time + 1;
    x->thread = t->number;
}

void explore_put(unsigned long value) {
    struct thread *t = engine->current;
    struct item *x = find(value);

    report_step(t, OP_PUT, NO_ORDER, PC, 0, sizeof value);
    report_stored(value);
    if (x && (x->put || !led_to(x, t)))
        report_fault(FAULT_CHECK, "a value is taken before it is put again",
                     "Thread %u puts %lu again, although it has not been taken.", t->number, value);
    if (!x) {
        if (items->count == ITEMS_MAX)
            report_fault(FAULT_LIMIT, "", "The program puts more than %d values a schedule.",
                         ITEMS_MAX);
        x = &items->item[items->count++];
        x->value = value;
    }
    note(x, true);
}

void explore_take(unsigned long value) {
    struct thread *t = engine->current;
    struct item *x = find(value);

    report_step(t, OP_TAKE, NO_ORDER, PC, 0, sizeof value);
    report_value(value, x ? x->step : -1, false);
    if (x && !x->put)
        report_fault(FAULT_DOUBLE_TAKE, "", "Thread %u takes %lu, which thread %u has taken.",
                     t->number, value, x->thread);
    if (!x || !led_to(x, t))
        report_fault(FAULT_CHECK, "a value that is taken was put",
                     "Thread %u takes %lu, which was not put before.", t->number, value);
    note(x, false);
}

void items_end(void) {
    for (unsigned i = 0; i < items->count; i++)
        if (items->item[i].put)
            report_fault(FAULT_LOST, "",
                         "All threads have ended, and %lu, which thread %u has put, was not taken.",
                         items->item[i].value, items->item[i].thread);
}
