/* Where a fresh fiber begins. The swap that enters it has loaded rsp = the top of the stack, a
 * multiple of 16, r12 = target and r13 = arg (context.c). */
    .text
    .globl  marl_fiber_trampoline
    .type   marl_fiber_trampoline, @function
marl_fiber_trampoline:
    movq    %r13, %rdi
    call    *%r12
    ud2                                 /* target must not return */
    .size   marl_fiber_trampoline, . - marl_fiber_trampoline

    .section .note.GNU-stack, "", @progbits
