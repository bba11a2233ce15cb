/* Keeps all that the C library keeps, the whole x87 environment included, but the signal mask. */
#include "ucontext_amd64.h"

    .text
    .globl  lab_swapcontext
    .type   lab_swapcontext, @function
lab_swapcontext:
    movq    %rbx, UC_RBX(%rdi)
    movq    %rbp, UC_RBP(%rdi)
    movq    %r12, UC_R12(%rdi)
    movq    %r13, UC_R13(%rdi)
    movq    %r14, UC_R14(%rdi)
    movq    %r15, UC_R15(%rdi)
    movq    (%rsp), %rcx                /* the return address */
    leaq    8(%rsp), %rdx               /* the stack pointer after the return */
    movq    %rcx, UC_RIP(%rdi)
    movq    %rdx, UC_RSP(%rdi)
    movq    %rdi, UC_RDI(%rdi)          /* what carries arguments is kept as well */
    movq    %rsi, UC_RSI(%rdi)
    movq    %r8, UC_R8(%rdi)
    movq    %r9, UC_R9(%rdi)
    leaq    UC_X87CW(%rdi), %rax
    movq    %rax, UC_FPREGS(%rdi)
    fnstenv UC_X87CW(%rdi)              /* masks all exceptions, so it is loaded again */
    fldenv  UC_X87CW(%rdi)
    stmxcsr UC_MXCSR(%rdi)

    fldenv  UC_X87CW(%rsi)
    ldmxcsr UC_MXCSR(%rsi)
    movq    UC_RBX(%rsi), %rbx
    movq    UC_RBP(%rsi), %rbp
    movq    UC_R12(%rsi), %r12
    movq    UC_R13(%rsi), %r13
    movq    UC_R14(%rsi), %r14
    movq    UC_R15(%rsi), %r15
    movq    UC_RSP(%rsi), %rsp          /* from here on, the other stack */
    movq    UC_RIP(%rsi), %r11          /* r11 carries no argument */
    movq    UC_RDI(%rsi), %rdi
    movq    UC_RDX(%rsi), %rdx
    movq    UC_RCX(%rsi), %rcx
    movq    UC_R8(%rsi), %r8
    movq    UC_R9(%rsi), %r9
    movq    UC_RSI(%rsi), %rsi          /* last: rsi is needed until now */
    xorl    %eax, %eax                  /* what swapcontext returns */
    jmp     *%r11
    .size   lab_swapcontext, . - lab_swapcontext

    .section .note.GNU-stack, "", @progbits
