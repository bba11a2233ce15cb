/* The swap on arm64, procedure call standard of Arm.
 *
 *     void marl_fiber_swap(struct marl_fiber_context *from, const struct marl_fiber_context *to);
 *
 * x0 = from, x1 = to. The caller expects of a call that x19 to x29, the low halves of v8 to v15 and
 * sp keep their values; all other registers it has given up. bl has left the place to return to in
 * x30. So these are all that the caller needs to go on later.
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
    /* Save what the caller of this function needs to go on. stp stores two registers side by side. */
    stp     x19, x20, [x0, #REG_X19]
    stp     x21, x22, [x0, #REG_X21]
    stp     x23, x24, [x0, #REG_X23]
    stp     x25, x26, [x0, #REG_X25]
    stp     x27, x28, [x0, #REG_X27]
    stp     x29, x30, [x0, #REG_X29]
    stp     d8, d9, [x0, #REG_D8]
    stp     d10, d11, [x0, #REG_D10]
    stp     d12, d13, [x0, #REG_D12]
    stp     d14, d15, [x0, #REG_D14]
    mov     x2, sp                      /* sp itself cannot be stored */
    str     x2, [x0, #REG_SP]

    /* Load what another fiber saved by the lines above. */
    ldp     x19, x20, [x1, #REG_X19]
    ldp     x21, x22, [x1, #REG_X21]
    ldp     x23, x24, [x1, #REG_X23]
    ldp     x25, x26, [x1, #REG_X25]
    ldp     x27, x28, [x1, #REG_X27]
    ldp     x29, x30, [x1, #REG_X29]
    ldp     d8, d9, [x1, #REG_D8]
    ldp     d10, d11, [x1, #REG_D10]
    ldp     d12, d13, [x1, #REG_D12]
    ldp     d14, d15, [x1, #REG_D14]
    ldr     x2, [x1, #REG_SP]
    mov     sp, x2                      /* from here on, the other stack */
    ret                                 /* jumps to x30: to the caller that is suspended in to */
    .size   marl_fiber_swap, . - marl_fiber_swap

/* Without this note the linker makes the stacks of the program executable. */
    .section .note.GNU-stack, "", %progbits
