/* The swap on amd64, System V ABI.
 *
 *     void marl_fiber_swap(struct marl_fiber_context *from, const struct marl_fiber_context *to);
 *
 * rdi = from, rsi = to. The caller expects of a call that rbx, rbp and r12 to r15 keep their values
 * and that rsp is as before; all other registers it has given up. So these, and the place to return
 * to, are all that the caller needs to go on later (handout.md, sections 2.1 and 2.2).
 *
 *         stack of from                        stack of to
 *     |                  |                 |                  |
 *     | caller's frame   |                 | its caller's     |
 *     |                  | <- rsp + 8      | frame            | <- rsp in to
 *     +------------------+                 +------------------+
 *     | return address   | <- rsp          | free             |
 *     +------------------+                 |                  |
 */
#include "context.h"

    .text
    .globl  marl_fiber_swap
    .type   marl_fiber_swap, @function
marl_fiber_swap:
    /* Save what the caller of this function needs to go on (section 2.3 and 2.4). */

    /* Load what another fiber saved by the lines above. */

    ret                                 /* TODO: return to the caller that is suspended in to */
    .size   marl_fiber_swap, . - marl_fiber_swap

/* Without this note the linker makes the stacks of the program executable. */
    .section .note.GNU-stack, "", @progbits
