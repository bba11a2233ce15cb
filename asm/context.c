//go:build amd64 || arm64

#include "context.h"

#include <stdlib.h>
#include <unistd.h>

void marl_fiber_set_target(struct marl_fiber_context *ctx, void *stack, size_t size,
                           void (*target)(void *), void *arg) {
    uintptr_t top = ((uintptr_t)stack + size) & ~(uintptr_t)15;

#if defined(__x86_64__)
    *ctx = (struct marl_fiber_context){
        .rsp = top,
        .rip = (uintptr_t)marl_fiber_trampoline,
        .rdi = (uintptr_t)arg,
        .rsi = (uintptr_t)target,
        .mxcsr = MARL_MXCSR_DEFAULT,
        .x87cw = MARL_X87CW_DEFAULT,
        .suspended_by = MARL_PREPARED,
    };
#elif defined(__aarch64__)
    *ctx = (struct marl_fiber_context){
        .sp = top,
        .lr = (uintptr_t)marl_fiber_trampoline,
        .x0 = (uintptr_t)arg,
        .x1 = (uintptr_t)target,
        .fpcr = MARL_FPCR_DEFAULT,
        .suspended_by = MARL_PREPARED,
    };
#endif
}

void marl_fiber_returned(void) {
    static const char line[] =
        "fiberlab: the body of a fiber returned: it must end by switching to another fiber\n";
    ssize_t written = write(STDERR_FILENO, line, sizeof line - 1);

    (void)written; /* there is no other place to report a failure */
    abort();
}
