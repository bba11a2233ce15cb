#include "context.h"

const size_t marl_fiber_context_size = sizeof(struct marl_fiber_context);

void marl_fiber_set_target(struct marl_fiber_context *ctx, void *stack, size_t size,
                           void (*target)(void *), void *arg) {
    ctx->sp = ((uintptr_t)stack + size) & ~(uintptr_t)15;
    ctx->pc = (uintptr_t)marl_fiber_trampoline;
    ctx->x29 = 0;
    ctx->x19 = (uintptr_t)target;
    ctx->x20 = (uintptr_t)arg;
}

__asm__(".text\n"
        ".globl marl_fiber_trampoline\n"
        "marl_fiber_trampoline:\n"
        "mov x0, x20\n"
        "blr x19\n"
        "udf #0\n");

void marl_fiber_swap(struct marl_fiber_context *from, const struct marl_fiber_context *to) {
    register struct marl_fiber_context *left __asm__("x0") = from;
    register const struct marl_fiber_context *entered __asm__("x1") = to;

    __asm__ volatile("mov x2, sp\n"
                     "adr x3, 1f\n"
                     "stp x2, x3, [x0]\n"
                     "stp x29, x19, [x0, #16]\n"
                     "str x20, [x0, #32]\n"
                     "ldp x2, x3, [x1]\n"
                     "ldp x29, x19, [x1, #16]\n"
                     "ldr x20, [x1, #32]\n"
                     "mov sp, x2\n"
                     "br x3\n"
                     "1:\n"
                     : "+r"(left), "+r"(entered)
                     :
                     : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
                       "x14", "x15", "x16", "x17", "x21", "x22", "x23", "x24", "x25", "x26", "x27",
                       "x28", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9",
                       "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20",
                       "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31",
                       "memory", "cc");
}
