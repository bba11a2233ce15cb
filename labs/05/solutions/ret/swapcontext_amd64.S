/* Leaves the jump to ret: pushes the place to go on at onto the stack that is entered. */
#include "ucontext_amd64.h"

    .text
    .globl  lab_swapcontext
    .type   lab_swapcontext, @function
lab_swapcontext:
    popq    UC_RIP(%rdi)
    movq    %rsp, UC_RSP(%rdi)
    movq    %r15, UC_R15(%rdi)
    movq    %r14, UC_R14(%rdi)
    movq    %r13, UC_R13(%rdi)
    movq    %r12, UC_R12(%rdi)
    movq    %rbx, UC_RBX(%rdi)
    movq    %rbp, UC_RBP(%rdi)
    movq    $0, UC_X87CW(%rdi)
    movq    $0xffff, UC_X87CW + 8(%rdi) /* the tags of eight empty registers */
    movq    $0, UC_X87CW + 16(%rdi)
    fnstcw  UC_X87CW(%rdi)              /* so this is an environment, without the time that fnstenv takes */
    leaq    UC_X87CW(%rdi), %rax
    movq    %rax, UC_FPREGS(%rdi)
    stmxcsr UC_MXCSR(%rdi)
    fldcw   UC_X87CW(%rsi)
    ldmxcsr UC_MXCSR(%rsi)
    movq    UC_RSP(%rsi), %rsp
    pushq   UC_RIP(%rsi)
    movq    UC_RBP(%rsi), %rbp
    movq    UC_RBX(%rsi), %rbx
    movq    UC_R12(%rsi), %r12
    movq    UC_R13(%rsi), %r13
    movq    UC_R14(%rsi), %r14
    movq    UC_R15(%rsi), %r15
    movq    UC_R9(%rsi), %r9
    movq    UC_R8(%rsi), %r8
    movq    UC_RCX(%rsi), %rcx
    movq    UC_RDX(%rsi), %rdx
    movq    UC_RDI(%rsi), %rdi
    movq    UC_RSI(%rsi), %rsi
    movl    $0, %eax
    ret
    .size   lab_swapcontext, . - lab_swapcontext

    .section .note.GNU-stack, "", @progbits
