/* The swap on arm64, procedure call standard of Arm.
 *
 *     void marl_fiber_swap(struct marl_fiber_context *from, const struct marl_fiber_context *to);
 *
 * x0 = from, x1 = to. The caller expects of a call that x19 to x29, the low halves of v8 to v15 and
 * sp keep their values; all other registers it has given up. bl has left the place to return to in
 * x30. So these are all that the caller needs to go on later
 * (handout.md, sections 3.1 and 3.2).
 *
 *         stack of from                        stack of to
 *     |                  |                 |                  |
 *     | caller's frame   |                 | its caller's     |
 *     |                  |                 | frame            |
 *     +------------------+ <- sp           +------------------+ <- sp in to
 *     | free             |                 | free             |
 */
#include "context.h"

    .text
    .globl  marl_fiber_swap
    .type   marl_fiber_swap, %function
marl_fiber_swap:
    /* Save what the caller of this function needs to go on (section 3.3 and 3.4). */

    /* Load what another fiber saved by the lines above. */

    ret                                 /* TODO: jump to where the caller suspended in to goes on */
    .size   marl_fiber_swap, . - marl_fiber_swap

/* Without this note the linker makes the stacks of the program executable. */
    .section .note.GNU-stack, "", %progbits
