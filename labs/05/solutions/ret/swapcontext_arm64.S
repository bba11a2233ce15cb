/* Goes on by ret, which may name another register than x30. Single loads and stores throughout. */
#include "ucontext_arm64.h"

    .text
    .globl  lab_swapcontext
    .type   lab_swapcontext, %function
lab_swapcontext:
    mov     x9, sp
    str     x9, [x0, #UC_SP]
    str     x30, [x0, #UC_PC]
    str     xzr, [x0, #UC_X0]
    .irp n, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30
    str     x\n, [x0, #(UC_X0 + 8 * \n)]
    .endr
    .irp n, 8, 9, 10, 11, 12, 13, 14, 15
    str     d\n, [x0, #(UC_V8 + 16 * (\n - 8))]
    .endr
    mrs     x9, fpcr
    str     w9, [x0, #UC_FPCR]
    adr     x9, magic
    ldr     w9, [x9]
    str     w9, [x0, #UC_FPHEAD]
    ldr     w9, [x1, #UC_FPCR]
    msr     fpcr, x9
    .irp n, 8, 9, 10, 11, 12, 13, 14, 15
    ldr     d\n, [x1, #(UC_V8 + 16 * (\n - 8))]
    .endr
    .irp n, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30
    ldr     x\n, [x1, #(UC_X0 + 8 * \n)]
    .endr
    ldr     x9, [x1, #UC_SP]
    mov     sp, x9
    ldr     x17, [x1, #UC_PC]
    .irp n, 0, 2, 3, 4, 5, 6, 7, 1
    ldr     x\n, [x1, #(UC_X0 + 8 * \n)]
    .endr
    ret     x17
magic:
    .word   0x46508001                  /* FPSIMD_MAGIC */
    .size   lab_swapcontext, . - lab_swapcontext

    .section .note.GNU-stack, "", %progbits
