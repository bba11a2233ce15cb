/* The first frame lies on the fiber's own stack: target and arg, which the trampoline pops. */
#include "context.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const size_t marl_fiber_context_size = sizeof(struct marl_fiber_context);

void marl_fiber_set_target(struct marl_fiber_context *ctx, void *stack, size_t size,
                           void (*target)(void *), void *arg) {
    uintptr_t end = (uintptr_t)stack + size;
    uint64_t *words = (uint64_t *)(end - end % 16);

    *--words = (uintptr_t)arg;
    *--words = (uintptr_t)target;
    memset(ctx, 0, sizeof *ctx);
#if defined(__x86_64__)
    ctx->rsp = (uintptr_t)words;
    ctx->rip = (uintptr_t)marl_fiber_trampoline;
#elif defined(__aarch64__)
    ctx->sp = (uintptr_t)words;
    ctx->x30 = (uintptr_t)marl_fiber_trampoline;
#endif
}

void marl_fiber_returned(void) {
    static const char line[] = "fatal: a fiber's function returned\n";

    if (write(2, line, strlen(line)) < 0)
        _exit(134);
    abort();
}
