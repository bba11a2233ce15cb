/* Lab 1 on arm64 in several files: lab_observe is the only function that C cannot express. */
#include "convention.h"

    .text

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
