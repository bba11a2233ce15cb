/* Keeps the whole of v8 to v15, as the C library does, but no signal mask. */
#include "ucontext_arm64.h"

    .text
    .globl  lab_swapcontext
    .type   lab_swapcontext, %function
lab_swapcontext:
    stp     x19, x20, [x0, #UC_X19]
    stp     x21, x22, [x0, #UC_X21]
    stp     x23, x24, [x0, #UC_X23]
    stp     x25, x26, [x0, #UC_X25]
    stp     x27, x28, [x0, #UC_X27]
    stp     x29, x30, [x0, #UC_X29]
    mov     x2, sp
    stp     x2, x30, [x0, #UC_SP]       /* sp, and pc: the context goes on where this returns */
    str     xzr, [x0, #UC_X0]           /* and finds 0 in x0, the result */
    str     q8, [x0, #UC_V8]
    str     q9, [x0, #UC_V9]
    str     q10, [x0, #UC_V10]
    str     q11, [x0, #UC_V11]
    str     q12, [x0, #UC_V12]
    str     q13, [x0, #UC_V13]
    str     q14, [x0, #UC_V14]
    str     q15, [x0, #UC_V15]
    mrs     x3, fpcr
    str     w3, [x0, #UC_FPCR]
    ldr     w3, =0x46508001             /* FPSIMD_MAGIC, and the size of the record */
    mov     w4, #528
    str     w3, [x0, #UC_FPHEAD]
    str     w4, [x0, #UC_FPHEAD + 4]

    ldr     w3, [x1, #UC_FPCR]
    msr     fpcr, x3
    ldr     q8, [x1, #UC_V8]
    ldr     q9, [x1, #UC_V9]
    ldr     q10, [x1, #UC_V10]
    ldr     q11, [x1, #UC_V11]
    ldr     q12, [x1, #UC_V12]
    ldr     q13, [x1, #UC_V13]
    ldr     q14, [x1, #UC_V14]
    ldr     q15, [x1, #UC_V15]
    ldp     x19, x20, [x1, #UC_X19]
    ldp     x21, x22, [x1, #UC_X21]
    ldp     x23, x24, [x1, #UC_X23]
    ldp     x25, x26, [x1, #UC_X25]
    ldp     x27, x28, [x1, #UC_X27]
    ldp     x29, x30, [x1, #UC_X29]
    ldp     x2, x16, [x1, #UC_SP]       /* x16 carries no argument */
    mov     sp, x2                      /* from here on, the other stack */
    ldp     x2, x3, [x1, #UC_X2]
    ldp     x4, x5, [x1, #UC_X4]
    ldp     x6, x7, [x1, #UC_X6]
    ldp     x0, x1, [x1, #UC_X0]        /* last: x1 is needed until now */
    br      x16
    .size   lab_swapcontext, . - lab_swapcontext

    .section .note.GNU-stack, "", %progbits
