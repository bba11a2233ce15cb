/* Lab 1 on arm64, another way: each function that calls keeps its values in its frame instead of in registers. */
#include "convention.h"

    .text

    .macro  FUNCTION name
    .globl  \name
    .type   \name, %function
\name:
    .endm

FUNCTION lab_return_address
    orr     x0, xzr, x30
    br      x30

FUNCTION lab_stack_after_return
    add     x0, sp, #0
    ret     x30

FUNCTION lab_tenth
    ldp     x1, x0, [sp]
    ret

/* At sp: x29, x30, function, the next value, the end, the sum. */
FUNCTION lab_sum_over
    stp     x29, x30, [sp, #-48]!
    mov     x29, sp
    add     x2, x1, x2, lsl #3
    stp     x0, x1, [sp, #16]
    stp     x2, xzr, [sp, #32]
    b       2f
1:  ldr     x0, [x1], #8
    str     x1, [sp, #24]
    ldr     x9, [sp, #16]
    blr     x9
    ldr     x2, [sp, #40]
    add     x0, x0, x2
    str     x0, [sp, #40]
2:  ldp     x1, x2, [sp, #24]
    cmp     x1, x2
    b.ne    1b
    ldr     x0, [sp, #40]
    ldp     x29, x30, [sp], #48
    ret

FUNCTION lab_call_ten
    stp     x29, x30, [sp, #-16]!
    mov     x29, sp
    mov     x16, x0
    add     x17, x1, #80
    ldp     x0, x1, [x17, #-16]!
    stp     x0, x1, [sp, #-16]!
    ldp     x6, x7, [x17, #-16]!
    ldp     x4, x5, [x17, #-16]!
    ldp     x2, x3, [x17, #-16]!
    ldp     x0, x1, [x17, #-16]!
    blr     x16
    mov     sp, x29
    ldp     x29, x30, [sp], #16
    ret

FUNCTION lab_keep_16
    stp     x1, x30, [sp, #-32]!
    ld1     {v2.16b}, [x1]
    str     q2, [sp, #16]
    blr     x0
    ldr     q2, [sp, #16]
    ldp     x1, x30, [sp], #32
    st1     {v2.16b}, [x1]
    ret

/* What the caller had in x19 to x29 and d8 to d15 goes to the stack by pushes, and comes back in the opposite order. */
FUNCTION lab_observe
    .irp    pair, "x19, x20", "x21, x22", "x23, x24", "x25, x26", "x27, x28", "x29, x30", "d8, d9", "d10, d11", "d12, d13", "d14, d15", "x0, x2"
    stp     \pair, [sp, #-16]!
    .endr
    mov     x29, x1
    .irp    n, 8, 9, 10, 11, 12, 13, 14, 15
    ldr     q\n, [x29, #LAB_Q8 + 16 * (\n - 8)]
    .endr
    .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
    ldr     x\n, [x29, #LAB_X0 + 8 * \n]
    .endr
    ldr     x30, [sp]
    blr     x30
    ldr     x30, [sp, #8]
    .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
    str     x\n, [x30, #LAB_X0 + 8 * \n]
    .endr
    .irp    n, 8, 9, 10, 11, 12, 13, 14, 15
    str     q\n, [x30, #LAB_Q8 + 16 * (\n - 8)]
    .endr
    .irp    pair, "x0, x2", "d14, d15", "d12, d13", "d10, d11", "d8, d9", "x29, x30", "x27, x28", "x25, x26", "x23, x24", "x21, x22", "x19, x20"
    ldp     \pair, [sp], #16
    .endr
    ret

    .section .note.GNU-stack, "", %progbits
