/* x1 = the context that was entered. The outermost frame is a whole one: it has a record of frame
 * pointer and return address, and both are 0. */
#include "context.h"

    .text
    .globl  marl_fiber_trampoline
    .type   marl_fiber_trampoline, %function
marl_fiber_trampoline:
    .cfi_startproc
    .cfi_undefined x30
    stp     xzr, xzr, [sp, #-16]!
    mov     x29, sp
    ldp     x0, x1, [x1, #REG_X0]
    blr     x1
    bl      marl_fiber_returned
    .cfi_endproc
    .size   marl_fiber_trampoline, . - marl_fiber_trampoline

    .section .note.GNU-stack, "", %progbits
