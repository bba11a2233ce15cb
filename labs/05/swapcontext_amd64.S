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
    /* Save in from what a call preserves, and where to go on (section 5.4). */

    /* Save the control words, and what the library reads (sections 5.6 and 5.8). */

    /* Load all of this from to, and the arguments of a fresh context (section 5.5). */

    ret                                 /* TODO: go on where to was suspended, with 0 as the result */
    .size   lab_swapcontext, . - lab_swapcontext

    .section .note.GNU-stack, "", @progbits
