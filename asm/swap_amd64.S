/* The switch on amd64, System V ABI.
 *
 *     void marl_fiber_swap(struct marl_fiber_context *from, const struct marl_fiber_context *to);
 *     void marl_fiber_swap_fp(...the same...);
 *
 * rdi = from, rsi = to. Saves in `from` the six registers that a call must preserve, the stack
 * pointer and the return address, loads the same from `to`, and jumps. Nothing is pushed. rsi still
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
 *   | untouched        |        | to trampoline    |        | to trampoline    | pushed by its call
 *   |                  |        +------------------+        +------------------+
 *   |                  |        | rbp = 0          |        | rbp = 0          | if it keeps one
 *   |                  |        | frames of target |        | frames of target |
 *   |                  |        | and its callees  |        | and its callees  |
 *   |                  |        +------------------+ <- rsp +------------------+ <- rsp
 *   |                  |        | return address,  |        | free             |
 *   |                  |        | popped: free     |        |                  |
 *   +------------------+ stack  +------------------+        +------------------+ stack
 *
 *   rsp = top                   rsp, rip,                   the context holds what the last switch
 *   rip = marl_fiber_trampoline rbx, rbp, r12-r15           from this fiber left there: of no use
 *   rbp = 0, rdi = arg,         in the context
 *   rsi = target
 */
#include "context_amd64.h"

    .text

/* So aligned, all of a switch lies in two cache lines. */
    .globl  marl_fiber_swap
    .type   marl_fiber_swap, @function
    .p2align 6
marl_fiber_swap:
    .cfi_startproc
    endbr64
swap_registers:
    popq    %rcx                        /* the return address; rsp is as after a return */
    .cfi_def_cfa_offset 0
    .cfi_register %rip, %rcx
    movq    %rbx, MARL_REG_RBX(%rdi)
    movq    %rbp, MARL_REG_RBP(%rdi)
    movq    %r12, MARL_REG_R12(%rdi)
    movq    %r13, MARL_REG_R13(%rdi)
    movq    %r14, MARL_REG_R14(%rdi)
    movq    %r15, MARL_REG_R15(%rdi)
    movq    %rsp, MARL_REG_RSP(%rdi)
    movq    %rcx, MARL_REG_RIP(%rdi)

    movq    MARL_REG_RBX(%rsi), %rbx
    movq    MARL_REG_RBP(%rsi), %rbp
    movq    MARL_REG_R12(%rsi), %r12
    movq    MARL_REG_R13(%rsi), %r13
    movq    MARL_REG_R14(%rsi), %r14
    movq    MARL_REG_R15(%rsi), %r15
    movq    MARL_REG_RIP(%rsi), %rdx
    movq    MARL_REG_RSP(%rsi), %rsp
    .cfi_register %rip, %rdx
    /* Not ret: the processor predicts a ret to come back to its own call, and here it never does.
     * A return site has no endbr64, hence notrack. */
    notrack jmp *%rdx
    .cfi_endproc
    .size   marl_fiber_swap, . - marl_fiber_swap

/* The control words first, then the rest as the bare variant does it. Storing the control words is
 * cheap, loading them can cost thirty switches, and they hardly ever differ. The exception flags in
 * mxcsr often do, but belong to no fiber. */
    .globl  marl_fiber_swap_fp
    .type   marl_fiber_swap_fp, @function
    .p2align 4
marl_fiber_swap_fp:
    .cfi_startproc
    endbr64
    stmxcsr MARL_REG_MXCSR(%rdi)
    fnstcw  MARL_REG_X87CW(%rdi)
    movl    MARL_REG_MXCSR(%rdi), %eax
    xorl    MARL_REG_MXCSR(%rsi), %eax
    testl   $MARL_MXCSR_CONTROL, %eax
    jne     load_control_words
    movzwl  MARL_REG_X87CW(%rdi), %eax
    cmpw    MARL_REG_X87CW(%rsi), %ax
    je      swap_registers
load_control_words:
    ldmxcsr MARL_REG_MXCSR(%rsi)
    fldcw   MARL_REG_X87CW(%rsi)
    jmp     swap_registers
    .cfi_endproc
    .size   marl_fiber_swap_fp, . - marl_fiber_swap_fp

/* The first entry: rsp = top, rbp = 0, rsi = the context that was entered. An undefined return
 * address tells unwinders by CFI that no frame lies above, the zero rbp tells unwinders that follow
 * frame pointers. There is no landing pad: only a switch leads here. */
    .globl  marl_fiber_trampoline
    .type   marl_fiber_trampoline, @function
    .p2align 4
marl_fiber_trampoline:
    .cfi_startproc
    .cfi_undefined %rip
    movq    MARL_REG_RDI(%rsi), %rdi
    movq    MARL_REG_RSI(%rsi), %rsi
    call    *%rsi
    call    marl_fiber_returned@PLT
    .cfi_endproc
    .size   marl_fiber_trampoline, . - marl_fiber_trampoline

/* Indirect branch tracking holds: each indirect target has endbr64 or is reached by notrack. Shadow
 * stacks do not: a switch leaves the thread's shadow stack where it is, so they are not claimed. */
#if defined(__CET__) && (__CET__ & 1)
    .section .note.gnu.property, "a", @note
    .p2align 3
    .long   4, 16, 5                    /* sizes of name and description; NT_GNU_PROPERTY_TYPE_0 */
    .asciz  "GNU"
    .long   0xc0000002, 4, 1, 0         /* GNU_PROPERTY_X86_FEATURE_1_AND, 4: IBT */
#endif

/* Without this note the linker makes every stack of the program executable. */
    .section .note.GNU-stack, "", @progbits
