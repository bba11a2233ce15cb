/* Where a fresh fiber begins. The swap that enters it has loaded sp = the top of the stack, a
 * multiple of 16, x19 = target and x20 = arg (context.c). */
    .text
    .globl  marl_fiber_trampoline
    .type   marl_fiber_trampoline, %function
marl_fiber_trampoline:
    mov     x0, x20
    blr     x19
    udf     #0                          /* target must not return */
    .size   marl_fiber_trampoline, . - marl_fiber_trampoline

    .section .note.GNU-stack, "", %progbits
