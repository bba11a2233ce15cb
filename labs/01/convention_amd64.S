/* Lab 1 on amd64. Complete the functions; convention.h says what each is to do, the handout how to find out.
 * Each of them returns 0 so far. */
#include "convention.h"

    .text

/* Section 1.2. No arguments. */
    .globl  lab_return_address
    .type   lab_return_address, @function
lab_return_address:
    movq    $0, %rax
    ret                                 /* to be written */
    .size   lab_return_address, . - lab_return_address

/* Section 1.2. No arguments. */
    .globl  lab_stack_after_return
    .type   lab_stack_after_return, @function
lab_stack_after_return:
    movq    $0, %rax
    ret                                 /* to be written */
    .size   lab_stack_after_return, . - lab_stack_after_return

/* Section 1.3. rdi, rsi, rdx, rcx, r8, r9 = the first six arguments. */
    .globl  lab_tenth
    .type   lab_tenth, @function
lab_tenth:
    movq    $0, %rax
    ret                                 /* to be written */
    .size   lab_tenth, . - lab_tenth

/* Section 1.4. rdi = function, rsi = values, rdx = count. */
    .globl  lab_sum_over
    .type   lab_sum_over, @function
lab_sum_over:
    movq    $0, %rax
    ret                                 /* to be written */
    .size   lab_sum_over, . - lab_sum_over

/* Section 1.5. rdi = function, rsi = values. */
    .globl  lab_call_ten
    .type   lab_call_ten, @function
lab_call_ten:
    movq    $0, %rax
    ret                                 /* to be written */
    .size   lab_call_ten, . - lab_call_ten

/* Section 1.6. rdi = stranger, rsi = address. */
    .globl  lab_keep_16
    .type   lab_keep_16, @function
lab_keep_16:
    movq    $0, %rax
    ret                                 /* to be written */
    .size   lab_keep_16, . - lab_keep_16

/* Section 1.7. rdi = stranger, rsi = before, rdx = after. */
    .globl  lab_observe
    .type   lab_observe, @function
lab_observe:
    movq    $0, %rax
    ret                                 /* to be written */
    .size   lab_observe, . - lab_observe

/* Without this note the linker makes the stack executable. */
    .section .note.GNU-stack, "", @progbits
