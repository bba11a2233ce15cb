/* A ring of contexts, each of which switches to the next by the default switch. */
#include "ring.h"

#include <stdlib.h>

#include "../asm/context.h"
#include "pingpong.h"

struct member {
    struct marl_fiber_context context;
    struct member *next;
};

/* members[0] is the caller of ring_run, on its thread's stack. */
struct ring {
    size_t n;
    struct member members[];
};

static void switch_to_next(void *arg) {
    struct member *self = arg;
    for (;;)
        marl_fiber_swap_fp(&self->context, &self->next->context);
}

struct ring *ring_open(size_t n) {
    struct ring *r = calloc(1, sizeof *r + (n + 1) * sizeof(struct member));
    if (!r)
        return NULL;
    r->n = n;
    for (size_t i = 0; i <= n; i++)
        r->members[i].next = &r->members[i < n ? i + 1 : 0];
    return r;
}

void ring_set_stack(struct ring *r, size_t i, uintptr_t lo, uintptr_t top) {
    struct member *m = &r->members[i + 1];
    marl_fiber_set_target(&m->context, (void *)lo, top - lo, switch_to_next, m);
}

uint64_t ring_run(struct ring *r, uint64_t laps) {
    struct member *home = &r->members[0];
    uint64_t start = nanoseconds();
    for (; laps; laps--)
        marl_fiber_swap_fp(&home->context, &home->next->context);
    return nanoseconds() - start;
}

void ring_close(struct ring *r) {
    free(r);
}
