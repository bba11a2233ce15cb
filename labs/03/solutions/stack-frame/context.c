#include "context.h"

const size_t marl_fiber_context_size = sizeof(struct marl_fiber_context);

/* Builds the frame that a swap unwinds: 20 words, x19 lowest, x29 and x30 after x28. */
void marl_fiber_set_target(struct marl_fiber_context *ctx, void *stack, size_t size,
                           void (*target)(void *), void *arg) {
    uint64_t *frame = (uint64_t *)(((uintptr_t)stack + size) & ~(uintptr_t)15) - 20;

    for (int i = 0; i < 20; i++)
        frame[i] = 0;
    frame[0] = (uintptr_t)target;
    frame[1] = (uintptr_t)arg;
    frame[11] = (uintptr_t)marl_fiber_trampoline;
    ctx->sp = frame;
}
