/* The first frame of a fiber, and the end of one whose body returned. */
#include "context.h"

#include <stdlib.h>
#include <unistd.h>

const size_t marl_fiber_context_size = sizeof(struct marl_fiber_context);

/* A swap loads the callee-saved registers from the context, so the trampoline finds target and
 * arg in two of them. The frame pointer is 0: no frame lies above. The other registers may hold
 * anything, since target has no caller that expects them back. */
void marl_fiber_set_target(struct marl_fiber_context *ctx, void *stack, size_t size,
                           void (*target)(void *), void *arg) {
    uintptr_t top = ((uintptr_t)stack + size) & ~(uintptr_t)15;

#if defined(__x86_64__)
    ctx->rsp = top;
    ctx->rip = (uintptr_t)marl_fiber_trampoline;
    ctx->rbp = 0;
    ctx->r12 = (uintptr_t)target;
    ctx->r13 = (uintptr_t)arg;
#elif defined(__aarch64__)
    ctx->sp = top;
    ctx->x30 = (uintptr_t)marl_fiber_trampoline;
    ctx->x29 = 0;
    ctx->x19 = (uintptr_t)target;
    ctx->x20 = (uintptr_t)arg;
#endif
}

void marl_fiber_returned(void) {
    static const char line[] = "the body of a fiber returned: it must end by a swap\n";
    ssize_t written = write(STDERR_FILENO, line, sizeof line - 1);

    (void)written; /* there is no other place to report a failure */
    abort();
}
