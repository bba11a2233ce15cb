/* Each pair is saved and loaded in the same breath. The jump goes by x16 and leaves x30 alone. */
    .text
    .globl  marl_fiber_swap
    .type   marl_fiber_swap, %function
marl_fiber_swap:
    stp     d8, d9, [x0]
    ldp     d8, d9, [x1]
    stp     d10, d11, [x0, #16]
    ldp     d10, d11, [x1, #16]
    stp     d12, d13, [x0, #32]
    ldp     d12, d13, [x1, #32]
    stp     d14, d15, [x0, #48]
    ldp     d14, d15, [x1, #48]
    stp     x28, x27, [x0, #64]
    ldp     x28, x27, [x1, #64]
    stp     x26, x25, [x0, #80]
    ldp     x26, x25, [x1, #80]
    stp     x24, x23, [x0, #96]
    ldp     x24, x23, [x1, #96]
    stp     x22, x21, [x0, #112]
    ldp     x22, x21, [x1, #112]
    stp     x20, x19, [x0, #128]
    ldp     x20, x19, [x1, #128]
    str     x29, [x0, #144]
    ldr     x29, [x1, #144]
    mov     x9, sp
    stp     x9, x30, [x0, #152]
    ldp     x9, x16, [x1, #152]
    mov     sp, x9
    br      x16
    .size   marl_fiber_swap, . - marl_fiber_swap

    .section .note.GNU-stack, "", %progbits
