/* All of it in one C file: the swap and the outermost frame are inline assembly, and what the
 * outermost frame calls is C. */
#include "context.h"

#include <stdlib.h>
#include <unistd.h>

const size_t marl_fiber_context_size = sizeof(struct marl_fiber_context);

void marl_fiber_set_target(struct marl_fiber_context *ctx, void *stack, size_t size,
                           void (*target)(void *), void *arg) {
    uintptr_t end = (uintptr_t)stack + size;

    ctx->sp = end - (end & 15);
    ctx->resume = marl_fiber_trampoline;
    ctx->fp = 0;
    ctx->target = target;
    ctx->arg = arg;
}

#if defined(__x86_64__)

__attribute__((noinline)) void marl_fiber_swap(struct marl_fiber_context *from,
                                               const struct marl_fiber_context *to) {
    __asm__ volatile("leaq 1f(%%rip), %%rax\n\t"
                     "movq %%rsp, 0(%0)\n\t"
                     "movq %%rax, 8(%0)\n\t"
                     "movq %%rbp, 16(%0)\n\t"
                     "movq 0(%1), %%rsp\n\t"
                     "movq 16(%1), %%rbp\n\t"
                     "jmp *8(%1)\n"
                     "1:"
                     : "+D"(from), "+S"(to)
                     :
                     : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
                       "r15", "memory", "cc");
}

/* rsi is still the context that was entered. */
__asm__(".text\n"
        ".globl marl_fiber_trampoline\n"
        ".type marl_fiber_trampoline, @function\n"
        "marl_fiber_trampoline:\n"
        "    .cfi_startproc\n"
        "    .cfi_undefined %rip\n"
        "    movq %rsi, %rdi\n"
        "    call marl_fiber_first_entry\n"
        "    ud2\n"
        "    .cfi_endproc\n"
        ".size marl_fiber_trampoline, . - marl_fiber_trampoline\n");

#elif defined(__aarch64__)

__attribute__((noinline)) void marl_fiber_swap(struct marl_fiber_context *from,
                                               const struct marl_fiber_context *to) {
    register struct marl_fiber_context *x0 __asm__("x0") = from;
    register const struct marl_fiber_context *x1 __asm__("x1") = to;

    __asm__ volatile("adr x9, 1f\n\t"
                     "mov x10, sp\n\t"
                     "stp x10, x9, [%0]\n\t"
                     "str x29, [%0, #16]\n\t"
                     "ldp x10, x9, [%1]\n\t"
                     "ldr x29, [%1, #16]\n\t"
                     "mov sp, x10\n\t"
                     "br x9\n"
                     "1:"
                     : "+r"(x0), "+r"(x1)
                     :
                     : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
                       "x14", "x15", "x16", "x17", "x19", "x20", "x21", "x22", "x23", "x24", "x25",
                       "x26", "x27", "x28", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7",
                       "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18",
                       "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29",
                       "v30", "v31", "memory", "cc");
}

/* x1 is still the context that was entered. */
__asm__(".text\n"
        ".globl marl_fiber_trampoline\n"
        ".type marl_fiber_trampoline, %function\n"
        "marl_fiber_trampoline:\n"
        "    .cfi_startproc\n"
        "    .cfi_undefined x30\n"
        "    mov x0, x1\n"
        "    bl marl_fiber_first_entry\n"
        "    udf #0\n"
        "    .cfi_endproc\n"
        ".size marl_fiber_trampoline, . - marl_fiber_trampoline\n");

#endif

void marl_fiber_first_entry(const struct marl_fiber_context *ctx) {
    ctx->target(ctx->arg);
    marl_fiber_returned();
}

void marl_fiber_returned(void) {
    static const char line[] = "a fiber has come to the end of its body\n";
    ssize_t ignored = write(STDERR_FILENO, line, sizeof line - 1);

    (void)ignored;
    abort();
}
