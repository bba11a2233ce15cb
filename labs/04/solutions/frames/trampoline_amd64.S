/* rsi = the context that was entered. The outermost frame is a whole one: it has a record of frame
 * pointer and return address, and both are 0. */
#include "context.h"

    .text
    .globl  marl_fiber_trampoline
    .type   marl_fiber_trampoline, @function
marl_fiber_trampoline:
    .cfi_startproc
    .cfi_undefined %rip
    pushq   $0
    pushq   $0
    movq    %rsp, %rbp
    movq    REG_RDI(%rsi), %rdi
    call    *REG_RSI(%rsi)
    call    marl_fiber_returned
    .cfi_endproc
    .size   marl_fiber_trampoline, . - marl_fiber_trampoline

    .section .note.GNU-stack, "", @progbits
