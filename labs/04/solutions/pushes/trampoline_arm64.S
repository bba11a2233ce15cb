/* sp = top - 16: target lies there, arg above it. There is no call: target is entered by a br. */
    .text
    .globl  marl_fiber_trampoline
    .type   marl_fiber_trampoline, %function
marl_fiber_trampoline:
    .cfi_startproc
    .cfi_undefined x30
    ldp     x9, x0, [sp], #16           /* target and arg; now sp = top */
    adr     x30, back
    br      x9
    nop                                 /* an unwinder looks at the instruction before back */
back:
    bl      marl_fiber_returned
    .cfi_endproc
    .size   marl_fiber_trampoline, . - marl_fiber_trampoline

    .section .note.GNU-stack, "", %progbits
