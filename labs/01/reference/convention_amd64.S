/* Lab 1 on amd64, System V ABI: a reference.
 *
 * At the first instruction of a function the return address lies at (%rsp), and the arguments beyond the sixth above
 * it. At a call, rsp must be a multiple of 16. The call pushes 8 bytes, so in a function that has pushed nothing rsp is
 * 8 more than a multiple of 16. For that reason pushes and subtractions below add up to 8, 24, 40 ... bytes.
 */
#include "convention.h"

    .text

    .globl  lab_return_address
    .type   lab_return_address, @function
lab_return_address:
    movq    (%rsp), %rax
    ret
    .size   lab_return_address, . - lab_return_address

    .globl  lab_stack_after_return
    .type   lab_stack_after_return, @function
lab_stack_after_return:
    leaq    8(%rsp), %rax               /* ret pops the return address */
    ret
    .size   lab_stack_after_return, . - lab_stack_after_return

/* Six arguments are in registers, so the tenth is the fourth on the stack. */
    .globl  lab_tenth
    .type   lab_tenth, @function
lab_tenth:
    movq    32(%rsp), %rax              /* 8 for the return address, 24 for three arguments */
    ret
    .size   lab_tenth, . - lab_tenth

/* rdi = function, rsi = values, rdx = count. Callee-saved registers hold all that is needed after a call:
 * rbx = function, r12 = the next value, r13 = how many are left, r14 = the sum. */
    .globl  lab_sum_over
    .type   lab_sum_over, @function
lab_sum_over:
    pushq   %rbx
    pushq   %r12
    pushq   %r13
    pushq   %r14
    subq    $8, %rsp                    /* rsp is a multiple of 16 */
    movq    %rdi, %rbx
    movq    %rsi, %r12
    movq    %rdx, %r13
    movq    $0, %r14
next_value:
    cmpq    $0, %r13
    je      no_more_values
    movq    (%r12), %rdi
    call    *%rbx
    addq    %rax, %r14
    addq    $8, %r12
    subq    $1, %r13
    jmp     next_value
no_more_values:
    movq    %r14, %rax
    addq    $8, %rsp
    popq    %r14
    popq    %r13
    popq    %r12
    popq    %rbx
    ret
    .size   lab_sum_over, . - lab_sum_over

/* rdi = function, rsi = values. The last argument is pushed first, so that the seventh lies lowest. */
    .globl  lab_call_ten
    .type   lab_call_ten, @function
lab_call_ten:
    subq    $8, %rsp                    /* with the four pushes: rsp is a multiple of 16 at the call */
    movq    %rdi, %rax
    movq    %rsi, %r10
    pushq   72(%r10)
    pushq   64(%r10)
    pushq   56(%r10)
    pushq   48(%r10)
    movq    40(%r10), %r9
    movq    32(%r10), %r8
    movq    24(%r10), %rcx
    movq    16(%r10), %rdx
    movq    8(%r10), %rsi
    movq    (%r10), %rdi
    call    *%rax
    addq    $40, %rsp
    ret
    .size   lab_call_ten, . - lab_call_ten

/* rdi = stranger, rsi = address. One vector register would hold the 16 bytes, but none survives a call. Two general registers
 * do: rbx = address, r12 and r13 = the bytes. */
    .globl  lab_keep_16
    .type   lab_keep_16, @function
lab_keep_16:
    pushq   %rbx
    pushq   %r12
    pushq   %r13
    movq    %rsi, %rbx
    movq    (%rbx), %r12
    movq    8(%rbx), %r13
    call    *%rdi
    movq    %r12, (%rbx)
    movq    %r13, 8(%rbx)
    popq    %r13
    popq    %r12
    popq    %rbx
    ret
    .size   lab_keep_16, . - lab_keep_16

/* rdi = stranger, rsi = before, rdx = after. After the call nothing is known but rsp, so all that is still needed is on the stack:
 *
 *   |                        |
 *   +------------------------+
 *   | return address         |
 *   +------------------------+ <- rsp at entry
 *   | rbx, rbp, r12 to r15   | as the caller had them
 *   +------------------------+
 *   | after                  | at 16(%rsp)
 *   +------------------------+
 *   | stranger               | at 8(%rsp)
 *   +------------------------+
 *   | 8 bytes of padding     |
 *   +------------------------+ <- rsp at the call
 */
    .globl  lab_observe
    .type   lab_observe, @function
lab_observe:
    pushq   %rbx
    pushq   %rbp
    pushq   %r12
    pushq   %r13
    pushq   %r14
    pushq   %r15
    pushq   %rdx
    pushq   %rdi
    subq    $8, %rsp

    movq    LAB_RBX(%rsi), %rbx
    movq    LAB_RCX(%rsi), %rcx
    movq    LAB_RDX(%rsi), %rdx
    movq    LAB_RDI(%rsi), %rdi
    movq    LAB_RBP(%rsi), %rbp
    movq    LAB_R8(%rsi), %r8
    movq    LAB_R9(%rsi), %r9
    movq    LAB_R10(%rsi), %r10
    movq    LAB_R11(%rsi), %r11
    movq    LAB_R12(%rsi), %r12
    movq    LAB_R13(%rsi), %r13
    movq    LAB_R14(%rsi), %r14
    movq    LAB_R15(%rsi), %r15
    movq    LAB_RAX(%rsi), %rax
    movq    LAB_RSI(%rsi), %rsi         /* last: it is the base of the others */
    call    *8(%rsp)

    movq    %rax, (%rsp)                /* makes a register free; the padding has room for it */
    movq    16(%rsp), %rax              /* after */
    movq    %rbx, LAB_RBX(%rax)
    movq    %rcx, LAB_RCX(%rax)
    movq    %rdx, LAB_RDX(%rax)
    movq    %rsi, LAB_RSI(%rax)
    movq    %rdi, LAB_RDI(%rax)
    movq    %rbp, LAB_RBP(%rax)
    movq    %r8, LAB_R8(%rax)
    movq    %r9, LAB_R9(%rax)
    movq    %r10, LAB_R10(%rax)
    movq    %r11, LAB_R11(%rax)
    movq    %r12, LAB_R12(%rax)
    movq    %r13, LAB_R13(%rax)
    movq    %r14, LAB_R14(%rax)
    movq    %r15, LAB_R15(%rax)
    movq    (%rsp), %rcx
    movq    %rcx, LAB_RAX(%rax)

    addq    $24, %rsp
    popq    %r15
    popq    %r14
    popq    %r13
    popq    %r12
    popq    %rbp
    popq    %rbx
    ret
    .size   lab_observe, . - lab_observe

/* Without this note the linker makes the stack executable. */
    .section .note.GNU-stack, "", @progbits
