/* A switch after which the processor still knows where each function returns to.
 *
 *     void fiberlab_swap_balanced(struct marl_fiber_context *from,
 *                                 const struct marl_fiber_context *to);
 *
 * It does what marl_fiber_swap_fp does. rdi = from, rsi = to.
 *
 * A processor predicts a ret by a list that it keeps to itself: a call adds its return
 * address, a ret takes off the latest. A switch changes the stack and not this list. That
 * does no harm if all fibers leave by the same chain of calls. Then the addresses that
 * one of them has put on the list are the other's return addresses, too. But
 * marl_fiber_swap_fp is called and ends by a jump, so its own return address stays on the
 * list. Each ret after it, through all of C and Go, is then predicted as the one before
 * should have been. Each time that costs some twenty cycles.
 *
 * So the return address is pushed by hand here. Then the call of this function is the last
 * on the list, and the ret below takes that off.
 *
 * The stack, high addresses above, and below it the end of the list:
 *
 *          called                 at the jump             at resumed, as
 *                                                         another fiber
 *   |                  |      |                  |      |                  |
 *   | frames of C      |      | frames of C      |      | frames of C      |
 *   +------------------+      +------------------+      +------------------+
 *   | return address   |      | return address   |      | return address   |
 *   +------------------+ rsp  +------------------+      +------------------+ rsp
 *   | free             |      | resumed          |      | free             |
 *   |                  |      +------------------+ rsp  |                  |
 *
 *   .. that address           .. that address           .. that of the fiber that left,
 *                                                          which most often is the same
 */
    .text
    .globl  fiberlab_swap_balanced
    .hidden fiberlab_swap_balanced
    .type   fiberlab_swap_balanced, @function
    .p2align 4
fiberlab_swap_balanced:
    .cfi_startproc
    endbr64
    leaq    resumed(%rip), %rax
    pushq   %rax
    .cfi_adjust_cfa_offset 8
    jmp     marl_fiber_swap_fp@PLT
    .cfi_adjust_cfa_offset -8           /* the switch has popped it */
    nop                                 /* unwinders judge a return address by the byte before it */
resumed:
    ret
    .cfi_endproc
    .size   fiberlab_swap_balanced, . - fiberlab_swap_balanced

#if defined(__CET__) && (__CET__ & 1)
    .section .note.gnu.property, "a", @note
    .p2align 3
    .long   4, 16, 5                    /* sizes of name and description; NT_GNU_PROPERTY_TYPE_0 */
    .asciz  "GNU"
    .long   0xc0000002, 4, 1, 0         /* GNU_PROPERTY_X86_FEATURE_1_AND, 4: IBT */
#endif

    .section .note.GNU-stack, "", @progbits
