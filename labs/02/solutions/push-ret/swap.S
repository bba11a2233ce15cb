/* Pushes what must survive, changes stacks, pops it and returns. */
    .text
    .globl  marl_fiber_swap
    .type   marl_fiber_swap, @function
marl_fiber_swap:
    pushq   %rbp
    pushq   %rbx
    pushq   %r12
    pushq   %r13
    pushq   %r14
    pushq   %r15
    movq    %rsp, (%rdi)
    movq    (%rsi), %rsp
    popq    %r15
    popq    %r14
    popq    %r13
    popq    %r12
    popq    %rbx
    popq    %rbp
    ret
    .size   marl_fiber_swap, . - marl_fiber_swap

    .section .note.GNU-stack, "", @progbits
