/* The swap of lab 2. Given.
 *
 *     void marl_fiber_swap(struct marl_fiber_context *from, const struct marl_fiber_context *to);
 *
 * rdi = from, rsi = to. */
#include "context.h"

    .text
    .globl  marl_fiber_swap
    .type   marl_fiber_swap, @function
marl_fiber_swap:
    .cfi_startproc
    movq    (%rsp), %rcx                /* the return address */
    leaq    8(%rsp), %rdx               /* rsp as it is after the return */
    movq    %rbx, REG_RBX(%rdi)
    movq    %rbp, REG_RBP(%rdi)
    movq    %r12, REG_R12(%rdi)
    movq    %r13, REG_R13(%rdi)
    movq    %r14, REG_R14(%rdi)
    movq    %r15, REG_R15(%rdi)
    movq    %rdx, REG_RSP(%rdi)
    movq    %rcx, REG_RIP(%rdi)

    movq    REG_RBX(%rsi), %rbx
    movq    REG_RBP(%rsi), %rbp
    movq    REG_R12(%rsi), %r12
    movq    REG_R13(%rsi), %r13
    movq    REG_R14(%rsi), %r14
    movq    REG_R15(%rsi), %r15
    movq    REG_RSP(%rsi), %rsp
    jmp     *REG_RIP(%rsi)
    .cfi_endproc
    .size   marl_fiber_swap, . - marl_fiber_swap

/* Without this note the linker makes every stack of the program executable. */
    .section .note.GNU-stack, "", @progbits
