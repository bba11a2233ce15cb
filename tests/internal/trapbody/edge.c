/* Uses of the stack: a body that comes close to its guard and switches there, a body that steps
 * into it, and a function that leaves something behind. */
#include <alloca.h>

#include "trapbody.h"
#include "../../../fiber/fiberlab.h"

__attribute__((noinline)) static void switch_at(struct trap_edge *e) {
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    volatile char *block = alloca(here - e->lo - e->left);
    block[0] = 1;
    e->code = fiberlab_switch(e->peer);
    e->code += block[0] != 1;
}

void trap_edge_body(void *edge) {
    switch_at(edge);
}

/* What a frame does whose lowest bytes are the first that it uses. */
void trap_step_body(void *edge) {
    struct trap_edge *e = edge;
    *(volatile char *)(e->lo - e->left) = 1;
}

void trap_spill(size_t words, uint64_t secret) {
    volatile uint64_t block[words];
    for (size_t i = 0; i < words; i++)
        block[i] = secret;
    (void)block;
}

size_t trap_count(uintptr_t lo, size_t words, uint64_t secret) {
    const volatile uint64_t *word = (const volatile uint64_t *)lo;
    size_t count = 0;
    for (size_t i = 0; i < words; i++)
        count += word[i] == secret;
    return count;
}

void trap_spill_body(void *order) {
    struct trap_spill *s = order;
    trap_spill(s->words, s->secret);
}
