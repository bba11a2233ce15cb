/* Lab 1 on amd64, another way: one routine saves for all functions what a call must preserve, another gives it back. A function
 * that calls begins with a call of the first and ends with a jump to the second. */
#include "convention.h"

    .text

    .macro  FUNCTION name
    .globl  \name
    .type   \name, @function
\name:
    .endm

/* Leaves rsp a multiple of 16 in the function that calls it as its first instruction. Changes r11. */
save:
    popq    %r11
    pushq   %r15
    pushq   %r14
    pushq   %r13
    pushq   %r12
    pushq   %rbp
    pushq   %rbx
    pushq   $0                          /* padding */
    jmp     *%r11

/* Returns to the caller of the function that jumps here. rsp must be as save left it. */
restore_and_return:
    popq    %rbx
    popq    %rbx
    popq    %rbp
    popq    %r12
    popq    %r13
    popq    %r14
    popq    %r15
    ret

FUNCTION lab_return_address
    popq    %rax
    pushq   %rax
    ret

FUNCTION lab_stack_after_return
    popq    %rdx
    movq    %rsp, %rax
    jmp     *%rdx

FUNCTION lab_tenth
    popq    %rdx
    movq    24(%rsp), %rax
    jmp     *%rdx

/* r15 counts up; rbp = the sum. */
FUNCTION lab_sum_over
    call    save
    movq    %rdi, %r12
    movq    %rsi, %r13
    movq    %rdx, %r14
    xorl    %ebp, %ebp
    xorl    %r15d, %r15d
1:  cmpq    %r14, %r15
    jge     2f
    movq    (%r13,%r15,8), %rdi
    call    *%r12
    leaq    (%rbp,%rax), %rbp
    incq    %r15
    jmp     1b
2:  movq    %rbp, %rax
    jmp     restore_and_return

/* The four arguments on the stack are stored where they belong, the seventh lowest. */
FUNCTION lab_call_ten
    call    save
    movq    %rdi, %rbx
    subq    $32, %rsp
    .irp    n, 6, 7, 8, 9
    movq    8 * \n(%rsi), %rax
    movq    %rax, 8 * (\n - 6)(%rsp)
    .endr
    movq    (%rsi), %rdi
    movq    16(%rsi), %rdx
    movq    24(%rsi), %rcx
    movq    32(%rsi), %r8
    movq    40(%rsi), %r9
    movq    8(%rsi), %rsi
    call    *%rbx
    addq    $32, %rsp
    jmp     restore_and_return

FUNCTION lab_keep_16
    call    save
    pushq   %rsi
    pushq   8(%rsi)
    pushq   (%rsi)
    pushq   $0                          /* padding */
    call    *%rdi
    popq    %rcx
    popq    %rax
    popq    %rdx
    popq    %rcx
    movq    %rax, (%rcx)
    movq    %rdx, 8(%rcx)
    jmp     restore_and_return

/* On the stack: after, and below it stranger, whose place rax has after the call. */
FUNCTION lab_observe
    call    save
    pushq   %rdx
    pushq   %rdi
    movq    %rsi, %rax
    movq    LAB_R15(%rax), %r15
    movq    LAB_R14(%rax), %r14
    movq    LAB_R13(%rax), %r13
    movq    LAB_R12(%rax), %r12
    movq    LAB_R11(%rax), %r11
    movq    LAB_R10(%rax), %r10
    movq    LAB_R9(%rax), %r9
    movq    LAB_R8(%rax), %r8
    movq    LAB_RBP(%rax), %rbp
    movq    LAB_RDI(%rax), %rdi
    movq    LAB_RSI(%rax), %rsi
    movq    LAB_RDX(%rax), %rdx
    movq    LAB_RCX(%rax), %rcx
    movq    LAB_RBX(%rax), %rbx
    movq    LAB_RAX(%rax), %rax
    call    *(%rsp)
    movq    %r15, (%rsp)
    movq    8(%rsp), %r15               /* after */
    movq    %rax, LAB_RAX(%r15)
    popq    %rax
    movq    %rax, LAB_R15(%r15)
    movq    %rbx, LAB_RBX(%r15)
    movq    %rcx, LAB_RCX(%r15)
    movq    %rdx, LAB_RDX(%r15)
    movq    %rsi, LAB_RSI(%r15)
    movq    %rdi, LAB_RDI(%r15)
    movq    %rbp, LAB_RBP(%r15)
    movq    %r8, LAB_R8(%r15)
    movq    %r9, LAB_R9(%r15)
    movq    %r10, LAB_R10(%r15)
    movq    %r11, LAB_R11(%r15)
    movq    %r12, LAB_R12(%r15)
    movq    %r13, LAB_R13(%r15)
    movq    %r14, LAB_R14(%r15)
    popq    %rax
    jmp     restore_and_return

    .section .note.GNU-stack, "", @progbits
