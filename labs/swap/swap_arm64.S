/* The swap of lab 3. Given.
 *
 *     void marl_fiber_swap(struct marl_fiber_context *from, const struct marl_fiber_context *to);
 *
 * x0 = from, x1 = to. */
#include "context.h"

    .text
    .globl  marl_fiber_swap
    .type   marl_fiber_swap, %function
marl_fiber_swap:
    .cfi_startproc
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
    mov     x9, sp
    str     x9, [x0, #REG_SP]

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
    ldr     x9, [x1, #REG_SP]
    mov     sp, x9
    ret
    .cfi_endproc
    .size   marl_fiber_swap, . - marl_fiber_swap

/* Without this note the linker makes every stack of the program executable. */
    .section .note.GNU-stack, "", %progbits
