/* swapcontext without its system call, on amd64.
 *
 *     int lab_swapcontext(ucontext_t *from, const ucontext_t *to);
 *
 * rdi = from, rsi = to. The signal mask stays as it is, whatever the contexts hold: that is what the
 * system call was for. All else is as with swapcontext: what a call preserves goes to from and comes
 * from to, the control words of floating point with it, and 0 is returned. A context that makecontext
 * has made holds in rdi, rsi, rdx, rcx, r8 and r9 the arguments of its function, and in rbx what
 * makecontext needs in the end.
 *
 *     |                  |
 *     | caller's frame   | <- rsp + 8: as it is after the return
 *     +------------------+
 *     | return address   | <- rsp
 *     +------------------+
 */
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
    leaq    UC_X87CW(%rdi), %r8
    movq    %r8, UC_FPREGS(%rdi)        /* by this setcontext finds the floating-point state */
    fnstenv UC_X87CW(%rdi)              /* 28 bytes: the last four lie where mxcsr comes next */
    stmxcsr UC_MXCSR(%rdi)

    fldenv  UC_X87CW(%rsi)              /* fnstenv has masked all exceptions */
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
