/* Each register is saved and loaded in the same breath. r10 and r11 hold what is used last. */
#include "ucontext_amd64.h"

    .text
    .globl  lab_swapcontext
    .type   lab_swapcontext, @function
lab_swapcontext:
    movq    %r15, UC_R15(%rdi)
    movq    UC_R15(%rsi), %r15
    movq    %r14, UC_R14(%rdi)
    movq    UC_R14(%rsi), %r14
    movq    %r13, UC_R13(%rdi)
    movq    UC_R13(%rsi), %r13
    movq    %r12, UC_R12(%rdi)
    movq    UC_R12(%rsi), %r12
    movq    %rbx, UC_RBX(%rdi)
    movq    UC_RBX(%rsi), %rbx
    movq    %rbp, UC_RBP(%rdi)
    movq    UC_RBP(%rsi), %rbp
    leaq    UC_X87CW(%rdi), %r11
    movq    %r11, UC_FPREGS(%rdi)
    fnstenv (%r11)
    fldenv  UC_X87CW(%rsi)
    stmxcsr UC_MXCSR(%rdi)
    ldmxcsr UC_MXCSR(%rsi)
    movq    %rsi, %r10
    movq    (%rsp), %rax
    addq    $8, %rsp
    movq    %rax, UC_RIP(%rdi)
    movq    %rsp, UC_RSP(%rdi)
    movq    UC_RSP(%r10), %rsp
    movq    UC_R9(%r10), %r9
    movq    UC_R8(%r10), %r8
    movq    UC_RCX(%r10), %rcx
    movq    UC_RDX(%r10), %rdx
    movq    UC_RSI(%r10), %rsi
    movq    UC_RDI(%r10), %rdi
    xorl    %eax, %eax
    jmp     *UC_RIP(%r10)
    .size   lab_swapcontext, . - lab_swapcontext

    .section .note.GNU-stack, "", @progbits
