#include "context.h"

const size_t marl_fiber_context_size = sizeof(struct marl_fiber_context);

void marl_fiber_set_target(struct marl_fiber_context *ctx, void *stack, size_t size,
                           void (*target)(void *), void *arg) {
    uintptr_t top = ((uintptr_t)stack + size) & ~(uintptr_t)15;

    /* The trampoline finds target and arg in x19 and x20: a swap loads these. */
    *ctx = (struct marl_fiber_context){
        .x19_x28 = {(uintptr_t)target, (uintptr_t)arg},
        .x30 = (uintptr_t)marl_fiber_trampoline,
        .sp = top,
    };
}
