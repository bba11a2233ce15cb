/* The first frame of a fiber, and the end of one whose body returned. */
#include "context.h"

#include <stdlib.h>
#include <unistd.h>

const size_t marl_fiber_context_size = sizeof(struct marl_fiber_context);

/* arg and target wait in the context, where the trampoline finds them. */
void marl_fiber_set_target(struct marl_fiber_context *ctx, void *stack, size_t size,
                           void (*target)(void *), void *arg) {
    uintptr_t top = ((uintptr_t)stack + size) & ~(uintptr_t)15;

    *ctx = (struct marl_fiber_context){0};
#if defined(__x86_64__)
    ctx->rsp = top;
    ctx->rip = (uintptr_t)marl_fiber_trampoline;
    ctx->rdi = (uintptr_t)arg;
    ctx->rsi = (uintptr_t)target;
#elif defined(__aarch64__)
    ctx->sp = top;
    ctx->x30 = (uintptr_t)marl_fiber_trampoline;
    ctx->x0 = (uintptr_t)arg;
    ctx->x1 = (uintptr_t)target;
#endif
}

void marl_fiber_returned(void) {
    static const char line[] = "the body of a fiber returned: it must end by a switch\n";
    ssize_t written = write(STDERR_FILENO, line, sizeof line - 1);

    (void)written; /* there is no other place to report a failure */
    abort();
}
