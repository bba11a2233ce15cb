/* Lab 1 on amd64, another way: each function that calls has a frame that rbp points to, and keeps its values there instead of in
 * registers. */
#include "convention.h"

    .text

    .macro  FUNCTION name
    .globl  \name
    .type   \name, @function
\name:
    .endm

FUNCTION lab_return_address
    popq    %rax
    jmp     *%rax

FUNCTION lab_stack_after_return
    movq    %rsp, %rax
    addq    $8, %rax
    ret

FUNCTION lab_tenth
    pushq   %rbp
    movq    %rsp, %rbp
    movq    40(%rbp), %rax
    leave
    ret

/* -8(%rbp) = function, -16(%rbp) = the next value, -24(%rbp) = the end, -32(%rbp) = the sum. */
FUNCTION lab_sum_over
    enter   $32, $0
    leaq    (%rsi,%rdx,8), %rax
    movq    %rdi, -8(%rbp)
    movq    %rsi, -16(%rbp)
    movq    %rax, -24(%rbp)
    movq    $0, -32(%rbp)
    jmp     2f
1:  addq    $8, -16(%rbp)
    movq    (%rsi), %rdi
    call    *-8(%rbp)
    addq    %rax, -32(%rbp)
2:  movq    -16(%rbp), %rsi
    cmpq    -24(%rbp), %rsi
    jne     1b
    movq    -32(%rbp), %rax
    leave
    ret

FUNCTION lab_call_ten
    enter   $0, $0
    movq    %rdi, %r11
    movq    %rsi, %rax
    .irp    offset, 72, 64, 56, 48
    pushq   \offset(%rax)
    .endr
    movq    (%rax), %rdi
    movq    8(%rax), %rsi
    movq    16(%rax), %rdx
    movq    24(%rax), %rcx
    movq    32(%rax), %r8
    movq    40(%rax), %r9
    call    *%r11
    leave
    ret

FUNCTION lab_keep_16
    enter   $32, $0
    movq    %rsi, -8(%rbp)
    movdqa  (%rsi), %xmm3
    movdqa  %xmm3, -32(%rbp)
    call    *%rdi
    movq    -8(%rbp), %rax
    movdqa  -32(%rbp), %xmm3
    movdqa  %xmm3, (%rax)
    leave
    ret

/* The stranger loses rbp, too. The stack pointer is all that it leaves, so the frame is found from there. */
FUNCTION lab_observe
    enter   $16, $0
    .irp    r, rbx, r12, r13, r14, r15, rdx
    pushq   %\r
    .endr
    movq    %rdi, 56(%rsp)              /* in the 16 bytes that enter made */
    movq    LAB_RAX(%rsi), %rax
    movq    LAB_RBX(%rsi), %rbx
    movq    LAB_RCX(%rsi), %rcx
    movq    LAB_RDX(%rsi), %rdx
    movq    LAB_RDI(%rsi), %rdi
    movq    LAB_RBP(%rsi), %rbp
    .irp    n, 8, 9, 10, 11, 12, 13, 14, 15
    movq    LAB_R8 + 8 * (\n - 8)(%rsi), %r\n
    .endr
    movq    LAB_RSI(%rsi), %rsi
    call    *56(%rsp)
    xchgq   %rax, (%rsp)                /* rax = after, and what the stranger left in rax is on the stack */
    movq    %rbx, LAB_RBX(%rax)
    movq    %rcx, LAB_RCX(%rax)
    movq    %rdx, LAB_RDX(%rax)
    movq    %rsi, LAB_RSI(%rax)
    movq    %rdi, LAB_RDI(%rax)
    movq    %rbp, LAB_RBP(%rax)
    .irp    n, 8, 9, 10, 11, 12, 13, 14, 15
    movq    %r\n, LAB_R8 + 8 * (\n - 8)(%rax)
    .endr
    popq    LAB_RAX(%rax)
    .irp    r, r15, r14, r13, r12, rbx
    popq    %\r
    .endr
    leaq    16(%rsp), %rbp
    leave
    ret

    .section .note.GNU-stack, "", @progbits
