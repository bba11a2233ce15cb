/* A ring of contexts, each of which switches to the next by the default switch. */
#include "ring.h"

#include "pingpong.h"

static void switch_to_next(void *arg) {
    struct member *self = arg;
    for (;;)
        SWAP(&self->context, &self->next->context);
}

void ring_set_stack(struct member *m, uintptr_t lo, uintptr_t top) {
    m->next = m + 1;
    SET_TARGET(&m->context, (void *)lo, top - lo, switch_to_next, m);
}

uint64_t ring_run(struct member *members, size_t n, uint64_t laps) {
    members[n].next = members; /* the rest of the ring is left out */
    SWAP(&members[0].context, &members[1].context);
    uint64_t start = nanoseconds();
    for (; laps; laps--)
        SWAP(&members[0].context, &members[1].context);
    uint64_t took = nanoseconds() - start;
    members[n].next = &members[n + 1];
    return took;
}
