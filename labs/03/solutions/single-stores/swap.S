/* A store and a load for each register. */
    .text
    .globl  marl_fiber_swap
    .type   marl_fiber_swap, %function
marl_fiber_swap:
    mov     x3, sp
    str     x3, [x0, #0]
    str     x19, [x0, #8]
    str     x20, [x0, #16]
    str     x21, [x0, #24]
    str     x22, [x0, #32]
    str     x23, [x0, #40]
    str     x24, [x0, #48]
    str     x25, [x0, #56]
    str     x26, [x0, #64]
    str     x27, [x0, #72]
    str     x28, [x0, #80]
    str     x29, [x0, #88]
    str     x30, [x0, #96]
    str     d8, [x0, #104]
    str     d9, [x0, #112]
    str     d10, [x0, #120]
    str     d11, [x0, #128]
    str     d12, [x0, #136]
    str     d13, [x0, #144]
    str     d14, [x0, #152]
    str     d15, [x0, #160]
    ldr     d8, [x1, #104]
    ldr     d9, [x1, #112]
    ldr     d10, [x1, #120]
    ldr     d11, [x1, #128]
    ldr     d12, [x1, #136]
    ldr     d13, [x1, #144]
    ldr     d14, [x1, #152]
    ldr     d15, [x1, #160]
    ldr     x19, [x1, #8]
    ldr     x20, [x1, #16]
    ldr     x21, [x1, #24]
    ldr     x22, [x1, #32]
    ldr     x23, [x1, #40]
    ldr     x24, [x1, #48]
    ldr     x25, [x1, #56]
    ldr     x26, [x1, #64]
    ldr     x27, [x1, #72]
    ldr     x28, [x1, #80]
    ldr     x29, [x1, #88]
    ldr     x30, [x1, #96]
    ldr     x3, [x1, #0]
    mov     sp, x3
    br      x30
    .size   marl_fiber_swap, . - marl_fiber_swap

    .section .note.GNU-stack, "", %progbits
