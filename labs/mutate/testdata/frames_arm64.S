// A function with a frame.
    .text
    .globl  keep
    .type   keep, %function
keep:
    stp     x29, x30, [sp, #-32]!
    mov     x29, sp
    str     d8, [sp, #16]
    str     lr, [x0], #8
    and     x9, x0, #~15
    bic     x9, x9, #15
    sub     sp, x9, #32
    cbz     x0, 2f
    bl      stranger
2:  ldr     w1, [x0, x2]
    ldr     d8, [sp, #16]
    ldp     x29, x30, [sp], #32
    ret
