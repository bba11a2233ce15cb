/* Lab 1 on arm64, another way: one routine saves for all functions what a call must preserve, another gives it back. A function
 * that calls begins with CALLS and ends with a branch to the second. */
#include "convention.h"

    .text

    .macro  FUNCTION name
    .globl  \name
    .type   \name, %function
\name:
    .endm

/* The call of save overwrites x30, so x16 carries what is in it. */
    .macro  CALLS
    mov     x16, x30
    bl      save
    .endm

/* Changes sp, by 160 bytes, and x30. */
save:
    sub     sp, sp, #160
    stp     d8, d9, [sp, #0]
    stp     d10, d11, [sp, #16]
    stp     d12, d13, [sp, #32]
    stp     d14, d15, [sp, #48]
    stp     x19, x20, [sp, #64]
    stp     x21, x22, [sp, #80]
    stp     x23, x24, [sp, #96]
    stp     x25, x26, [sp, #112]
    stp     x27, x28, [sp, #128]
    stp     x29, x16, [sp, #144]
    ret

/* Returns to the caller of the function that branches here. sp must be as save left it. */
restore_and_return:
    ldp     d8, d9, [sp, #0]
    ldp     d10, d11, [sp, #16]
    ldp     d12, d13, [sp, #32]
    ldp     d14, d15, [sp, #48]
    ldp     x19, x20, [sp, #64]
    ldp     x21, x22, [sp, #80]
    ldp     x23, x24, [sp, #96]
    ldp     x25, x26, [sp, #112]
    ldp     x27, x28, [sp, #128]
    ldp     x29, x30, [sp, #144]
    add     sp, sp, #160
    ret

FUNCTION lab_return_address
    add     x0, x30, #0
    ret

FUNCTION lab_stack_after_return
    mov     x1, sp
    mov     x0, x1
    ret

FUNCTION lab_tenth
    add     x1, sp, #8
    ldr     x0, [x1]
    br      x30

/* x28 counts up; x27 = the sum. */
FUNCTION lab_sum_over
    CALLS
    mov     x24, x0
    mov     x25, x1
    mov     x26, x2
    mov     x27, xzr
    mov     x28, xzr
1:  cmp     x28, x26
    b.ge    2f
    ldr     x0, [x25, x28, lsl #3]
    blr     x24
    add     x27, x27, x0
    add     x28, x28, #1
    b       1b
2:  mov     x0, x27
    b       restore_and_return

/* The two arguments on the stack are stored where they belong, the ninth lower. */
FUNCTION lab_call_ten
    CALLS
    mov     x19, x0
    mov     x20, x1
    sub     sp, sp, #16
    ldr     x9, [x20, #72]
    str     x9, [sp, #8]
    ldr     x9, [x20, #64]
    str     x9, [sp]
    .irp    n, 0, 1, 2, 3, 4, 5, 6, 7
    ldr     x\n, [x20, #8 * \n]
    .endr
    blr     x19
    add     sp, sp, #16
    b       restore_and_return

FUNCTION lab_keep_16
    CALLS
    ldp     x2, x3, [x1]
    stp     x2, x3, [sp, #-16]!
    str     x1, [sp, #-16]!
    blr     x0
    ldr     x1, [sp], #16
    ldp     x2, x3, [sp], #16
    stp     x2, x3, [x1]
    b       restore_and_return

/* after lies at sp during the call. x30 is free for stranger, since save has put away what it held. */
FUNCTION lab_observe
    CALLS
    str     x2, [sp, #-16]!
    mov     x30, x0
    mov     x29, x1
    .irp    n, 15, 14, 13, 12, 11, 10, 9, 8
    ldr     q\n, [x29, #LAB_Q8 + 16 * (\n - 8)]
    .endr
    .irp    n, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 29
    ldr     x\n, [x29, #LAB_X0 + 8 * \n]
    .endr
    blr     x30
    ldr     x30, [sp], #16
    .irp    n, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
    str     x\n, [x30, #LAB_X0 + 8 * \n]
    .endr
    .irp    n, 15, 14, 13, 12, 11, 10, 9, 8
    str     q\n, [x30, #LAB_Q8 + 16 * (\n - 8)]
    .endr
    b       restore_and_return

    .section .note.GNU-stack, "", %progbits
