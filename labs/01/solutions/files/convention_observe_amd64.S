/* Lab 1 on amd64 in several files: lab_observe is the only function that C cannot express. */
#include "convention.h"

    .text

    .globl  lab_observe
    .type   lab_observe, @function
lab_observe:
    pushq   %rbx
    pushq   %rbp
    pushq   %r12
    pushq   %r13
    pushq   %r14
    pushq   %r15
    subq    $24, %rsp
    movq    %rdx, (%rsp)
    movq    %rdi, 16(%rsp)

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
    call    *16(%rsp)

    movq    %rax, 8(%rsp)
    movq    (%rsp), %rax                /* after */
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
    movq    8(%rsp), %rcx
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
