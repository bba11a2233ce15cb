/* Lab 1 on arm64. Complete the functions; convention.h says what each is to do, the handout how to find out.
 * Each of them returns 0 so far. */
#include "convention.h"

    .text

/* Section 1.2. No arguments. */
    .globl  lab_return_address
    .type   lab_return_address, %function
lab_return_address:
    mov     x0, #0
    ret                                 /* to be written */
    .size   lab_return_address, . - lab_return_address

/* Section 1.2. No arguments. */
    .globl  lab_stack_after_return
    .type   lab_stack_after_return, %function
lab_stack_after_return:
    mov     x0, #0
    ret                                 /* to be written */
    .size   lab_stack_after_return, . - lab_stack_after_return

/* Section 1.3. x0 to x7 = the first eight arguments. */
    .globl  lab_tenth
    .type   lab_tenth, %function
lab_tenth:
    mov     x0, #0
    ret                                 /* to be written */
    .size   lab_tenth, . - lab_tenth

/* Section 1.4. x0 = function, x1 = values, x2 = count. */
    .globl  lab_sum_over
    .type   lab_sum_over, %function
lab_sum_over:
    mov     x0, #0
    ret                                 /* to be written */
    .size   lab_sum_over, . - lab_sum_over

/* Section 1.5. x0 = function, x1 = values. */
    .globl  lab_call_ten
    .type   lab_call_ten, %function
lab_call_ten:
    mov     x0, #0
    ret                                 /* to be written */
    .size   lab_call_ten, . - lab_call_ten

/* Section 1.6. x0 = stranger, x1 = address. */
    .globl  lab_keep_16
    .type   lab_keep_16, %function
lab_keep_16:
    mov     x0, #0
    ret                                 /* to be written */
    .size   lab_keep_16, . - lab_keep_16

/* Section 1.7. x0 = stranger, x1 = before, x2 = after. */
    .globl  lab_observe
    .type   lab_observe, %function
lab_observe:
    mov     x0, #0
    ret                                 /* to be written */
    .size   lab_observe, . - lab_observe

/* Without this note the linker makes the stack executable. */
    .section .note.GNU-stack, "", %progbits
