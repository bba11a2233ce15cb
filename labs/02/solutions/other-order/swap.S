/* Each register is saved and loaded in the same breath, the stack pointer last. */
    .text
    .globl  marl_fiber_swap
    .type   marl_fiber_swap, @function
marl_fiber_swap:
    movq    %r15, 8(%rdi)
    movq    8(%rsi), %r15
    movq    %r14, 16(%rdi)
    movq    16(%rsi), %r14
    movq    %r13, 24(%rdi)
    movq    24(%rsi), %r13
    movq    %r12, 32(%rdi)
    movq    32(%rsi), %r12
    movq    %rbp, 40(%rdi)
    movq    40(%rsi), %rbp
    movq    %rbx, 48(%rdi)
    movq    48(%rsi), %rbx
    movq    %rsp, (%rdi)
    movq    (%rsi), %rsp
    ret
    .size   marl_fiber_swap, . - marl_fiber_swap

    .section .note.GNU-stack, "", @progbits
