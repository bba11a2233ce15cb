#include "context.h"

const size_t marl_fiber_context_size = sizeof(struct marl_fiber_context);

void marl_fiber_set_target(struct marl_fiber_context *ctx, void *stack, size_t size,
                           void (*target)(void *), void *arg) {
    ctx->sp = ((uintptr_t)stack + size) & ~(uintptr_t)15;
    ctx->x19_x30[0] = (uintptr_t)target;
    ctx->x19_x30[1] = (uintptr_t)arg;
    ctx->x19_x30[11] = (uintptr_t)marl_fiber_trampoline;
}
