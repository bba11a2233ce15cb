/* A ring of contexts, each of which switches to the next by the default switch. */
#include "ring.h"

#include <stdlib.h>

#include "pingpong.h"

#if defined(__x86_64__) || defined(__aarch64__)
#include "../asm/context.h"
#define CONTEXT struct marl_fiber_context
#define SET_TARGET marl_fiber_set_target
#define SWAP marl_fiber_swap_fp
#else
#include "../cgo_ucontext/context.h"
#define CONTEXT struct ucontext_fiber_context
#define SET_TARGET ucontext_fiber_set_target
#define SWAP ucontext_fiber_swap
#endif

struct member {
    CONTEXT context;
    struct member *next;
};

/* members[0] is the caller of ring_run, on its thread's stack. */
struct ring {
    size_t all; /* members */
    size_t n;   /* the member that switches to the caller */
    struct member members[];
};

static void switch_to_next(void *arg) {
    struct member *self = arg;
    for (;;)
        SWAP(&self->context, &self->next->context);
}

struct ring *ring_open(size_t n) {
    struct ring *r = calloc(1, sizeof *r + (n + 1) * sizeof(struct member));
    if (!r)
        return NULL;
    r->n = r->all = n;
    for (size_t i = 0; i <= n; i++)
        r->members[i].next = &r->members[i < n ? i + 1 : 0];
    return r;
}

void ring_set_stack(struct ring *r, size_t i, uintptr_t lo, uintptr_t top) {
    struct member *m = &r->members[i + 1];
    SET_TARGET(&m->context, (void *)lo, top - lo, switch_to_next, m);
}

uint64_t ring_run(struct ring *r, uint64_t laps) {
    struct member *home = &r->members[0];
    uint64_t start = nanoseconds();
    for (; laps; laps--)
        SWAP(&home->context, &home->next->context);
    return nanoseconds() - start;
}

void ring_limit(struct ring *r, size_t n) {
    if (r->n < r->all)
        r->members[r->n].next = &r->members[r->n + 1];
    r->members[n].next = &r->members[0];
    r->n = n;
}

size_t ring_length(const struct ring *r) {
    size_t length = 1;
    for (const struct member *m = r->members[0].next; m != &r->members[0]; m = m->next)
        length++;
    return length;
}

size_t ring_member_size(void) {
    return sizeof(struct member);
}

void ring_close(struct ring *r) {
    free(r);
}
