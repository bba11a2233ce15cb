#include "context.h"

const size_t marl_fiber_context_size = sizeof(struct marl_fiber_context);

void marl_fiber_set_target(struct marl_fiber_context *ctx, void *stack, size_t size,
                           void (*target)(void *), void *arg) {
    /* Seven words for the swap's frame and its return address; rsp is the top after the return. */
    uint64_t *frame = (uint64_t *)(((uintptr_t)stack + size) & ~(uintptr_t)15) - 7;

    frame[0] = (uintptr_t)target;
    frame[1] = (uintptr_t)arg;
    frame[6] = (uintptr_t)marl_fiber_trampoline;
    ctx->sp = frame;
}
