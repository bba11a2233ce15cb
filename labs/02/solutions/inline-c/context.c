#include "context.h"

const size_t marl_fiber_context_size = sizeof(struct marl_fiber_context);

void marl_fiber_set_target(struct marl_fiber_context *ctx, void *stack, size_t size,
                           void (*target)(void *), void *arg) {
    ctx->rsp = ((uintptr_t)stack + size) & ~(uintptr_t)15;
    ctx->rip = (uintptr_t)marl_fiber_trampoline;
    ctx->rbp = (uintptr_t)arg;
    ctx->rbx = (uintptr_t)target;
}

__asm__(".text\n"
        ".globl marl_fiber_trampoline\n"
        "marl_fiber_trampoline:\n"
        "movq %rbp, %rdi\n"
        "call *%rbx\n"
        "ud2\n");

void marl_fiber_swap(struct marl_fiber_context *from, const struct marl_fiber_context *to) {
    __asm__ volatile("leaq 1f(%%rip), %%rax\n"
                     "movq %%rsp, 0(%0)\n"
                     "movq %%rax, 8(%0)\n"
                     "movq %%rbp, 16(%0)\n"
                     "movq %%rbx, 24(%0)\n"
                     "movq 16(%1), %%rbp\n"
                     "movq 24(%1), %%rbx\n"
                     "movq 0(%1), %%rsp\n"
                     "jmp *8(%1)\n"
                     "1:\n"
                     : "+D"(from), "+S"(to)
                     :
                     : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
                       "memory", "cc");
}
