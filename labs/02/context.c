#include "context.h"

const size_t marl_fiber_context_size = sizeof(struct marl_fiber_context);

void marl_fiber_set_target(struct marl_fiber_context *ctx, void *stack, size_t size,
                           void (*target)(void *), void *arg) {
    uintptr_t top = ((uintptr_t)stack + size) & ~(uintptr_t)15;

    *ctx = (struct marl_fiber_context){
        .rsp = top,
        .rip = (uintptr_t)marl_fiber_trampoline,
        .r12 = (uintptr_t)target, /* the trampoline finds them there: a swap loads r12 and r13 */
        .r13 = (uintptr_t)arg,
    };
}
