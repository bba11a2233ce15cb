#define _GNU_SOURCE /* for the names of the registers in a ucontext_t */
#include "context.h"

#include <fenv.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

static _Noreturn void die(const char *line, size_t length) {
    ssize_t written = write(STDERR_FILENO, line, length);

    (void)written; /* there is no other place to report a failure */
    abort();
}

/* The argument must be a string literal. */
#define DIE(line) die("fiberlab: " line "\n", sizeof("fiberlab: " line "\n") - 1)

#ifndef __GLIBC__
/* musl declares these functions and lacks them. Package fiber calls none of them there; another
 * program that does ends with the line below. They are hidden, so that no library that is loaded
 * later takes them for real ones. */
#define MISSING __attribute__((visibility("hidden"), noreturn))
#define DIE_MISSING DIE("swapcontext is missing in this C library: build with glibc")

MISSING int getcontext(ucontext_t *uc) {
    (void)uc;
    DIE_MISSING;
}

MISSING int setcontext(const ucontext_t *uc) {
    (void)uc;
    DIE_MISSING;
}

MISSING void makecontext(ucontext_t *uc, void (*target)(), int argc, ...) {
    (void)uc, (void)target, (void)argc;
    DIE_MISSING;
}

MISSING int swapcontext(ucontext_t *from, const ucontext_t *to) {
    (void)from, (void)to;
    DIE_MISSING;
}
#endif

/* makecontext passes ints, so the address of the context comes in two halves. */
static void entry(unsigned int high, unsigned int low) {
    uintptr_t self = (uintptr_t)high << 32 | low;
    struct ucontext_fiber_context *ctx = (struct ucontext_fiber_context *)self;

    /* getcontext took the environment of the caller that prepared this fiber. */
    fesetenv(FE_DFL_ENV);
    ctx->target(ctx->arg);
    DIE("the body of a fiber returned: it must end by switching to another fiber");
}

/* getcontext took the frame pointer of that caller, too. Zero ends the stack for
 * unwinders that follow frame pointers. */
static void clear_frame_pointer(ucontext_t *uc) {
#if defined(__x86_64__)
    uc->uc_mcontext.gregs[REG_RBP] = 0;
#elif defined(__aarch64__)
    uc->uc_mcontext.regs[29] = 0;
#elif defined(__riscv)
    uc->uc_mcontext.__gregs[REG_S0] = 0;
#else
    (void)uc; /* no register is set aside for it */
#endif
}

void ucontext_fiber_set_target(struct ucontext_fiber_context *ctx, void *stack, size_t size,
                               void (*target)(void *), void *arg) {
    uintptr_t self = (uintptr_t)ctx;
    uintptr_t top = ((uintptr_t)stack + size) & ~(uintptr_t)15;

    ctx->target = target;
    ctx->arg = arg;
    if (getcontext(&ctx->uc) != 0)
        DIE("getcontext failed");
    ctx->uc.uc_stack.ss_sp = stack;
    ctx->uc.uc_stack.ss_size = top - (uintptr_t)stack;
    ctx->uc.uc_link = NULL; /* entry does not return */
    makecontext(&ctx->uc, (void (*)(void))entry, 2, (unsigned int)(self >> 32), (unsigned int)self);
    clear_frame_pointer(&ctx->uc);
}

void ucontext_fiber_swap(struct ucontext_fiber_context *from,
                         const struct ucontext_fiber_context *to) {
    if (swapcontext(&from->uc, &to->uc) != 0)
        DIE("swapcontext failed");
}
