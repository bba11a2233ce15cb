#include "context.h"

const size_t marl_fiber_context_size = sizeof(struct marl_fiber_context);

void marl_fiber_set_target(struct marl_fiber_context *ctx, void *stack, size_t size,
                           void (*target)(void *), void *arg) {
    uint64_t *top = (uint64_t *)(((uintptr_t)stack + size) & ~(uintptr_t)15);

    *--top = (uintptr_t)marl_fiber_trampoline;
    ctx->rsp = (uintptr_t)top;
    ctx->rbx = (uintptr_t)target;
    ctx->rbp = (uintptr_t)arg;
}
