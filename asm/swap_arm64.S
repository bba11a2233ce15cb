/* The switch on arm64, AAPCS64.
 *
 *     void marl_fiber_swap(struct marl_fiber_context *from, const struct marl_fiber_context *to);
 *     void marl_fiber_swap_fp(...the same...);
 *
 * x0 = from, x1 = to. Saves in `from` the nineteen registers that a call must preserve, the return
 * address and the stack pointer, loads the same from `to`, and jumps. Nothing is pushed. x1 still
 * names `to` when the other side goes on, which is how the trampoline of a fresh fiber finds its
 * arguments.
 *
 * The stack of a fiber, high addresses above:
 *
 *        initial                    suspended                   running
 *   (marl_fiber_set_target)      (in marl_fiber_swap)       (in any function)
 *
 *   |                  |        |                  |        |                  |
 *   +------------------+ top    +------------------+        +------------------+ top (16-aligned)
 *   | untouched        |        | target's frame:  |        | target's frame:  |
 *   |                  |        | to trampoline    |        | to trampoline    | saved lr
 *   |                  |        | x29 = 0          |        | x29 = 0          | saved x29
 *   |                  |        | frames of its    |        | frames of its    |
 *   |                  |        | callees          |        | callees          |
 *   |                  |        +------------------+ <- sp  +------------------+ <- sp
 *   |                  |        | free             |        | free             |
 *   +------------------+ stack  +------------------+        +------------------+ stack
 *
 *   sp = top                    sp, lr,                     the context holds what the last switch
 *   lr = marl_fiber_trampoline  x19-x29, d8-d15             from this fiber left there: of no use
 *   x29 = 0, x0 = arg,          in the context
 *   x1 = target
 */
#include "context_arm64.h"

/* A switch is no return to the last bl, so a predictor is better served by br. But where branch
 * targets are checked, br needs a landing pad, and the instruction after a bl is none: there, ret,
 * which needs none. */
#ifdef __ARM_FEATURE_BTI_DEFAULT
#define RESUME ret
#else
#define RESUME br
#endif
/* bti c, as the hint that assemblers without it take, too. */
#define BTI_C hint #34

    .text

    .globl  marl_fiber_swap
    .type   marl_fiber_swap, %function
    .p2align 6
marl_fiber_swap:
    .cfi_startproc
    BTI_C
swap_registers:
    stp     x19, x20, [x0, #MARL_REG_X19]
    stp     x21, x22, [x0, #MARL_REG_X21]
    stp     x23, x24, [x0, #MARL_REG_X23]
    stp     x25, x26, [x0, #MARL_REG_X25]
    stp     x27, x28, [x0, #MARL_REG_X27]
    stp     x29, x30, [x0, #MARL_REG_X29]
    stp     d8, d9, [x0, #MARL_REG_D8]
    stp     d10, d11, [x0, #MARL_REG_D10]
    stp     d12, d13, [x0, #MARL_REG_D12]
    stp     d14, d15, [x0, #MARL_REG_D14]
    mov     x9, sp                      /* no instruction stores or loads sp itself */
    str     x9, [x0, #MARL_REG_SP]

    ldp     x19, x20, [x1, #MARL_REG_X19]
    ldp     x21, x22, [x1, #MARL_REG_X21]
    ldp     x23, x24, [x1, #MARL_REG_X23]
    ldp     x25, x26, [x1, #MARL_REG_X25]
    ldp     x27, x28, [x1, #MARL_REG_X27]
    ldp     d8, d9, [x1, #MARL_REG_D8]
    ldp     d10, d11, [x1, #MARL_REG_D10]
    ldp     d12, d13, [x1, #MARL_REG_D12]
    ldp     d14, d15, [x1, #MARL_REG_D14]
    ldp     x29, x30, [x1, #MARL_REG_X29]
    ldr     x9, [x1, #MARL_REG_SP]
    mov     sp, x9
    RESUME  x30
    .cfi_endproc
    .size   marl_fiber_swap, . - marl_fiber_swap

/* The control word first, then the rest as the bare variant does it. Storing the control word is
 * cheap, loading it makes many cores wait, and it hardly ever differs. */
    .globl  marl_fiber_swap_fp
    .type   marl_fiber_swap_fp, %function
    .p2align 4
marl_fiber_swap_fp:
    .cfi_startproc
    BTI_C
    mrs     x9, fpcr
    str     w9, [x0, #MARL_REG_FPCR]
    ldr     w10, [x1, #MARL_REG_FPCR]
    cmp     w9, w10
    b.eq    swap_registers
    msr     fpcr, x10
    b       swap_registers
    .cfi_endproc
    .size   marl_fiber_swap_fp, . - marl_fiber_swap_fp

/* The first entry: sp = top, x29 = 0, x1 = the context that was entered. An undefined return
 * address tells unwinders by CFI that no frame lies above, the zero x29 tells unwinders that follow
 * frame pointers. There is no landing pad: only a switch leads here, by ret where pads matter. */
    .globl  marl_fiber_trampoline
    .type   marl_fiber_trampoline, %function
    .p2align 4
marl_fiber_trampoline:
    .cfi_startproc
    .cfi_undefined x30
    ldp     x0, x1, [x1, #MARL_REG_X0]
    blr     x1
    bl      marl_fiber_returned
    .cfi_endproc
    .size   marl_fiber_trampoline, . - marl_fiber_trampoline

/* Branch targets hold. Signed return addresses are not claimed: the resume address of a suspended
 * fiber lies unsigned in its context. */
#ifdef __ARM_FEATURE_BTI_DEFAULT
    .section .note.gnu.property, "a", %note
    .p2align 3
    .long   4, 16, 5                    /* sizes of name and description; NT_GNU_PROPERTY_TYPE_0 */
    .asciz  "GNU"
    .long   0xc0000000, 4, 1, 0         /* GNU_PROPERTY_AARCH64_FEATURE_1_AND, 4: BTI */
#endif

/* Without this note the linker makes every stack of the program executable. */
    .section .note.GNU-stack, "", %progbits
