/* The swap on amd64, System V ABI.
 *
 *     void marl_fiber_swap(struct marl_fiber_context *from, const struct marl_fiber_context *to);
 *
 * rdi = from, rsi = to. The caller expects of a call that rbx, rbp and r12 to r15 keep their values
 * and that rsp is as before; all other registers it has given up. So these, and the place to return
 * to, are all that the caller needs to go on later.
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
    /* Save what the caller of this function needs to go on. */
    movq    %rbx, REG_RBX(%rdi)
    movq    %rbp, REG_RBP(%rdi)
    movq    %r12, REG_R12(%rdi)
    movq    %r13, REG_R13(%rdi)
    movq    %r14, REG_R14(%rdi)
    movq    %r15, REG_R15(%rdi)
    movq    (%rsp), %rcx                /* the return address, where call has pushed it */
    leaq    8(%rsp), %rdx               /* the stack pointer as it is after a return */
    movq    %rcx, REG_RIP(%rdi)
    movq    %rdx, REG_RSP(%rdi)

    /* Load what another fiber saved by the lines above. */
    movq    REG_RBX(%rsi), %rbx
    movq    REG_RBP(%rsi), %rbp
    movq    REG_R12(%rsi), %r12
    movq    REG_R13(%rsi), %r13
    movq    REG_R14(%rsi), %r14
    movq    REG_R15(%rsi), %r15
    movq    REG_RIP(%rsi), %rcx
    movq    REG_RSP(%rsi), %rsp         /* from here on, the other stack */
    jmp     *%rcx                       /* return to the caller that is suspended in to */
    .size   marl_fiber_swap, . - marl_fiber_swap

/* Without this note the linker makes the stacks of the program executable. */
    .section .note.GNU-stack, "", @progbits
