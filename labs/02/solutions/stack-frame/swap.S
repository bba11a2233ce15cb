/* Makes room for six words in a frame, and leaves the return address where call put it.
 * r12 lies lowest, then r13, r14, r15, rbx, rbp. */
    .text
    .globl  marl_fiber_swap
    .type   marl_fiber_swap, @function
marl_fiber_swap:
    subq    $48, %rsp
    movq    %r12, 0(%rsp)
    movq    %r13, 8(%rsp)
    movq    %r14, 16(%rsp)
    movq    %r15, 24(%rsp)
    movq    %rbx, 32(%rsp)
    movq    %rbp, 40(%rsp)
    movq    %rsp, 0(%rdi)
    movq    0(%rsi), %rsp
    movq    40(%rsp), %rbp
    movq    32(%rsp), %rbx
    movq    24(%rsp), %r15
    movq    16(%rsp), %r14
    movq    8(%rsp), %r13
    movq    0(%rsp), %r12
    addq    $48, %rsp
    ret
    .size   marl_fiber_swap, . - marl_fiber_swap

    .section .note.GNU-stack, "", @progbits
