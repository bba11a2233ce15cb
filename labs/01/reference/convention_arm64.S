/* Lab 1 on arm64, AAPCS64: a reference.
 *
 * At the first instruction of a function the return address is in x30, and the arguments beyond the eighth lie at sp. A call (bl, blr)
 * overwrites x30, so that each function that calls another one saves it first. sp is a multiple of 16 at all times.
 */
#include "convention.h"

    .text

    .globl  lab_return_address
    .type   lab_return_address, %function
lab_return_address:
    mov     x0, x30
    ret
    .size   lab_return_address, . - lab_return_address

    .globl  lab_stack_after_return
    .type   lab_stack_after_return, %function
lab_stack_after_return:
    mov     x0, sp                      /* ret pops nothing */
    ret
    .size   lab_stack_after_return, . - lab_stack_after_return

/* Eight arguments are in registers, so the tenth is the second on the stack. */
    .globl  lab_tenth
    .type   lab_tenth, %function
lab_tenth:
    ldr     x0, [sp, #8]
    ret
    .size   lab_tenth, . - lab_tenth

/* x0 = function, x1 = values, x2 = count. Callee-saved registers hold all that is needed after a call:
 * x19 = function, x20 = the next value, x21 = how many are left, x22 = the sum. */
    .globl  lab_sum_over
    .type   lab_sum_over, %function
lab_sum_over:
    stp     x29, x30, [sp, #-48]!
    stp     x19, x20, [sp, #16]
    stp     x21, x22, [sp, #32]
    mov     x19, x0
    mov     x20, x1
    mov     x21, x2
    mov     x22, #0
next_value:
    cbz     x21, no_more_values
    ldr     x0, [x20]
    blr     x19
    add     x22, x22, x0
    add     x20, x20, #8
    sub     x21, x21, #1
    b       next_value
no_more_values:
    mov     x0, x22
    ldp     x19, x20, [sp, #16]
    ldp     x21, x22, [sp, #32]
    ldp     x29, x30, [sp], #48
    ret
    .size   lab_sum_over, . - lab_sum_over

/* x0 = function, x1 = values. The ninth argument lies at sp, the tenth above it. */
    .globl  lab_call_ten
    .type   lab_call_ten, %function
lab_call_ten:
    sub     sp, sp, #32                 /* 16 bytes for x29 and x30, below them 16 for two arguments */
    stp     x29, x30, [sp, #16]
    mov     x9, x0
    mov     x10, x1
    ldp     x11, x12, [x10, #64]
    stp     x11, x12, [sp]
    ldp     x6, x7, [x10, #48]
    ldp     x4, x5, [x10, #32]
    ldp     x2, x3, [x10, #16]
    ldp     x0, x1, [x10]
    blr     x9
    ldp     x29, x30, [sp, #16]
    add     sp, sp, #32
    ret
    .size   lab_call_ten, . - lab_call_ten

/* x0 = stranger, x1 = address. One vector register would hold the 16 bytes, but not more than its low half survives a call. Two
 * general registers do: x19 = address, x20 and x21 = the bytes. */
    .globl  lab_keep_16
    .type   lab_keep_16, %function
lab_keep_16:
    stp     x29, x30, [sp, #-48]!
    stp     x19, x20, [sp, #16]
    str     x21, [sp, #32]
    mov     x19, x1
    ldp     x20, x21, [x19]
    blr     x0
    stp     x20, x21, [x19]
    ldp     x19, x20, [sp, #16]
    ldr     x21, [sp, #32]
    ldp     x29, x30, [sp], #48
    ret
    .size   lab_keep_16, . - lab_keep_16

/* x0 = stranger, x1 = before, x2 = after. After the call nothing is known but sp, so all that is still needed is on the stack. x30 is not
 * observed, since a call changes it in any case: it is the base of all the loads and stores.
 *
 *   |                        |
 *   +------------------------+ <- sp at entry
 *   | after, stranger        | at 160
 *   +------------------------+
 *   | d8 to d15              | at 96   as the caller had them
 *   +------------------------+
 *   | x19 to x28             | at 16
 *   +------------------------+
 *   | x29, x30               | at 0
 *   +------------------------+ <- sp at the call
 */
    .globl  lab_observe
    .type   lab_observe, %function
lab_observe:
    stp     x29, x30, [sp, #-176]!
    stp     x19, x20, [sp, #16]
    stp     x21, x22, [sp, #32]
    stp     x23, x24, [sp, #48]
    stp     x25, x26, [sp, #64]
    stp     x27, x28, [sp, #80]
    stp     d8, d9, [sp, #96]
    stp     d10, d11, [sp, #112]
    stp     d12, d13, [sp, #128]
    stp     d14, d15, [sp, #144]
    stp     x2, x0, [sp, #160]

    mov     x30, x1
    ldp     q8, q9, [x30, #LAB_Q8]
    ldp     q10, q11, [x30, #LAB_Q10]
    ldp     q12, q13, [x30, #LAB_Q12]
    ldp     q14, q15, [x30, #LAB_Q14]
    ldp     x0, x1, [x30, #LAB_X0]
    ldp     x2, x3, [x30, #LAB_X2]
    ldp     x4, x5, [x30, #LAB_X4]
    ldp     x6, x7, [x30, #LAB_X6]
    ldp     x8, x9, [x30, #LAB_X8]
    ldp     x10, x11, [x30, #LAB_X10]
    ldp     x12, x13, [x30, #LAB_X12]
    ldp     x14, x15, [x30, #LAB_X14]
    ldp     x16, x17, [x30, #LAB_X16]
    ldp     x18, x19, [x30, #LAB_X18]
    ldp     x20, x21, [x30, #LAB_X20]
    ldp     x22, x23, [x30, #LAB_X22]
    ldp     x24, x25, [x30, #LAB_X24]
    ldp     x26, x27, [x30, #LAB_X26]
    ldp     x28, x29, [x30, #LAB_X28]
    ldr     x30, [sp, #168]             /* stranger */
    blr     x30

    ldr     x30, [sp, #160]             /* after */
    stp     q8, q9, [x30, #LAB_Q8]
    stp     q10, q11, [x30, #LAB_Q10]
    stp     q12, q13, [x30, #LAB_Q12]
    stp     q14, q15, [x30, #LAB_Q14]
    stp     x0, x1, [x30, #LAB_X0]
    stp     x2, x3, [x30, #LAB_X2]
    stp     x4, x5, [x30, #LAB_X4]
    stp     x6, x7, [x30, #LAB_X6]
    stp     x8, x9, [x30, #LAB_X8]
    stp     x10, x11, [x30, #LAB_X10]
    stp     x12, x13, [x30, #LAB_X12]
    stp     x14, x15, [x30, #LAB_X14]
    stp     x16, x17, [x30, #LAB_X16]
    stp     x18, x19, [x30, #LAB_X18]
    stp     x20, x21, [x30, #LAB_X20]
    stp     x22, x23, [x30, #LAB_X22]
    stp     x24, x25, [x30, #LAB_X24]
    stp     x26, x27, [x30, #LAB_X26]
    stp     x28, x29, [x30, #LAB_X28]

    ldp     x19, x20, [sp, #16]
    ldp     x21, x22, [sp, #32]
    ldp     x23, x24, [sp, #48]
    ldp     x25, x26, [sp, #64]
    ldp     x27, x28, [sp, #80]
    ldp     d8, d9, [sp, #96]
    ldp     d10, d11, [sp, #112]
    ldp     d12, d13, [sp, #128]
    ldp     d14, d15, [sp, #144]
    ldp     x29, x30, [sp], #176
    ret
    .size   lab_observe, . - lab_observe

/* Without this note the linker makes the stack executable. */
    .section .note.GNU-stack, "", %progbits
