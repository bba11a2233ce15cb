/* The first entry of a fiber on arm64: section 4.5. Say here what each register holds when a switch
 * leads here. */
    .text
    .globl  marl_fiber_trampoline
    .type   marl_fiber_trampoline, %function
marl_fiber_trampoline:
    .cfi_startproc
    udf     #0                          /* your work */
    .cfi_endproc
    .size   marl_fiber_trampoline, . - marl_fiber_trampoline

/* Without this note the linker makes every stack of the program executable. */
    .section .note.GNU-stack, "", %progbits
