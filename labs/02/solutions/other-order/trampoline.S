/* The first swap has loaded rbx = target and rbp = arg. */
    .text
    .globl  marl_fiber_trampoline
    .type   marl_fiber_trampoline, @function
marl_fiber_trampoline:
    movq    %rbp, %rdi
    xorl    %ebp, %ebp                  /* no frame above this one */
    pushq   $0
    pushq   %rbp
    call    *%rbx
    hlt
    .size   marl_fiber_trampoline, . - marl_fiber_trampoline

    .section .note.GNU-stack, "", @progbits
