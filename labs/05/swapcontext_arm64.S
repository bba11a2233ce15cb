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
    /* Save in from what a call preserves, and where to go on (section 5.4). */

    /* Save the control register, and what the library reads (sections 5.6 and 5.8). */

    /* Load all of this from to, and the arguments of a fresh context (section 5.5). */

    ret                                 /* TODO: go on where to was suspended, with 0 as the result */
    .size   lab_swapcontext, . - lab_swapcontext

    .section .note.GNU-stack, "", %progbits
