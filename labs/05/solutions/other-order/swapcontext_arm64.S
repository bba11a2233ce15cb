/* Each pair is saved and loaded in the same breath. x10 and x16 hold what is used last. */
#include "ucontext_arm64.h"

    .text
    .globl  lab_swapcontext
    .type   lab_swapcontext, %function
lab_swapcontext:
    str     d15, [x0, #UC_V15]
    ldr     d15, [x1, #UC_V15]
    str     d14, [x0, #UC_V14]
    ldr     d14, [x1, #UC_V14]
    str     d13, [x0, #UC_V13]
    ldr     d13, [x1, #UC_V13]
    str     d12, [x0, #UC_V12]
    ldr     d12, [x1, #UC_V12]
    str     d11, [x0, #UC_V11]
    ldr     d11, [x1, #UC_V11]
    str     d10, [x0, #UC_V10]
    ldr     d10, [x1, #UC_V10]
    str     d9, [x0, #UC_V9]
    ldr     d9, [x1, #UC_V9]
    str     d8, [x0, #UC_V8]
    ldr     d8, [x1, #UC_V8]
    stp     x27, x28, [x0, #UC_X27]
    ldp     x27, x28, [x1, #UC_X27]
    stp     x25, x26, [x0, #UC_X25]
    ldp     x25, x26, [x1, #UC_X25]
    stp     x23, x24, [x0, #UC_X23]
    ldp     x23, x24, [x1, #UC_X23]
    stp     x21, x22, [x0, #UC_X21]
    ldp     x21, x22, [x1, #UC_X21]
    stp     x19, x20, [x0, #UC_X19]
    ldp     x19, x20, [x1, #UC_X19]
    mrs     x11, fpcr
    str     w11, [x0, #UC_FPCR]
    mov     w11, #0x46500000
    add     w11, w11, #8, lsl #12
    add     w11, w11, #1
    str     w11, [x0, #UC_FPHEAD]       /* FPSIMD_MAGIC */
    ldr     w11, [x1, #UC_FPCR]
    msr     fpcr, x11
    mov     x12, sp
    stp     x12, x30, [x0, #UC_SP]
    stp     x29, x30, [x0, #UC_X29]
    str     xzr, [x0, #UC_X0]
    mov     x10, x1
    ldp     x29, x30, [x10, #UC_X29]
    ldp     x12, x16, [x10, #UC_SP]
    mov     sp, x12
    ldp     x6, x7, [x10, #UC_X6]
    ldp     x4, x5, [x10, #UC_X4]
    ldp     x2, x3, [x10, #UC_X2]
    ldp     x0, x1, [x10, #UC_X0]
    br      x16
    .size   lab_swapcontext, . - lab_swapcontext

    .section .note.GNU-stack, "", %progbits
