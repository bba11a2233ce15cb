/* swapcontext without its system calls, on arm64.
 *
 *     int lab_swapcontext(ucontext_t *from, const ucontext_t *to);
 *
 * x0 = from, x1 = to. The signal mask stays as it is, whatever the contexts hold: that is what the
 * system calls were for. All else is as with swapcontext: what a call preserves goes to from and comes
 * from to, the control register of floating point with it, and 0 is returned. In a context that
 * makecontext has made, x0 to x7 hold the arguments of its function, and x30 where that returns to.
 * x19 holds what makecontext needs in the end. Its pc and its x30 differ.
 *
 *     |                  |
 *     | caller's frame   |
 *     +------------------+ <- sp
 */
#include "ucontext_arm64.h"

    .text
    .globl  lab_swapcontext
    .type   lab_swapcontext, %function
lab_swapcontext:
    stp     x19, x20, [x0, #UC_X19]
    stp     x21, x22, [x0, #UC_X21]
    stp     x23, x24, [x0, #UC_X23]
    stp     x25, x26, [x0, #UC_X25]
    stp     x27, x28, [x0, #UC_X27]
    stp     x29, x30, [x0, #UC_X29]
    mov     x2, sp
    stp     x2, x30, [x0, #UC_SP]       /* sp, and pc: the context goes on where this returns */
    str     xzr, [x0, #UC_X0]           /* and finds 0 in x0, the result */
    str     d8, [x0, #UC_V8]
    str     d9, [x0, #UC_V9]
    str     d10, [x0, #UC_V10]
    str     d11, [x0, #UC_V11]
    str     d12, [x0, #UC_V12]
    str     d13, [x0, #UC_V13]
    str     d14, [x0, #UC_V14]
    str     d15, [x0, #UC_V15]
    mrs     x3, fpcr
    str     w3, [x0, #UC_FPCR]
    movz    w4, #0x8001                 /* FPSIMD_MAGIC, */
    movk    w4, #0x4650, lsl #16
    str     w4, [x0, #UC_FPHEAD]        /* without which setcontext loads neither fpcr nor d8 to d15 */

    ldr     w3, [x1, #UC_FPCR]
    msr     fpcr, x3
    ldr     d8, [x1, #UC_V8]
    ldr     d9, [x1, #UC_V9]
    ldr     d10, [x1, #UC_V10]
    ldr     d11, [x1, #UC_V11]
    ldr     d12, [x1, #UC_V12]
    ldr     d13, [x1, #UC_V13]
    ldr     d14, [x1, #UC_V14]
    ldr     d15, [x1, #UC_V15]
    ldp     x19, x20, [x1, #UC_X19]
    ldp     x21, x22, [x1, #UC_X21]
    ldp     x23, x24, [x1, #UC_X23]
    ldp     x25, x26, [x1, #UC_X25]
    ldp     x27, x28, [x1, #UC_X27]
    ldp     x29, x30, [x1, #UC_X29]
    ldp     x2, x16, [x1, #UC_SP]       /* x16 carries no argument */
    mov     sp, x2                      /* from here on, the other stack */
    ldp     x2, x3, [x1, #UC_X2]
    ldp     x4, x5, [x1, #UC_X4]
    ldp     x6, x7, [x1, #UC_X6]
    ldp     x0, x1, [x1, #UC_X0]        /* last: x1 is needed until now */
    br      x16
    .size   lab_swapcontext, . - lab_swapcontext

    .section .note.GNU-stack, "", %progbits
