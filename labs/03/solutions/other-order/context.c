#include "context.h"

const size_t marl_fiber_context_size = sizeof(struct marl_fiber_context);

void marl_fiber_set_target(struct marl_fiber_context *ctx, void *stack, size_t size,
                           void (*target)(void *), void *arg) {
    *ctx = (struct marl_fiber_context){
        .x28_x19[8] = (uintptr_t)arg,
        .x28_x19[9] = (uintptr_t)target,
        .sp = ((uintptr_t)stack + size) & ~(uintptr_t)15,
        .pc = (uintptr_t)marl_fiber_trampoline,
    };
}
