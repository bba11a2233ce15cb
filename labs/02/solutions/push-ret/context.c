#include "context.h"

const size_t marl_fiber_context_size = sizeof(struct marl_fiber_context);

/* Builds the frame that a swap pops: r15, r14, r13, r12, rbx, rbp, return address. */
void marl_fiber_set_target(struct marl_fiber_context *ctx, void *stack, size_t size,
                           void (*target)(void *), void *arg) {
    uint64_t *frame = (uint64_t *)(((uintptr_t)stack + size) & ~(uintptr_t)15) - 7;

    for (int i = 0; i < 6; i++)
        frame[i] = 0;
    frame[2] = (uintptr_t)arg;
    frame[3] = (uintptr_t)target;
    frame[6] = (uintptr_t)marl_fiber_trampoline;
    ctx->sp = frame;
}
