/* The switch on amd64, System V ABI.
 *
 *     void marl_fiber_swap(struct marl_fiber_context *from, const struct marl_fiber_context *to);
 *     void marl_fiber_swap_fp(...the same...);
 *
 * rdi = from, rsi = to. Everything is kept in the contexts, nothing is pushed; rsi still names `to`
 * when the other side goes on, which is how the trampoline of a fresh fiber finds its arguments.
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
 *   rsp = top                   rsp + MARL_ALL_SAVED, rip,  the context holds what the last switch
 *   rip = marl_fiber_trampoline rbx, rbp, r12-r15           from this fiber left there: of no use
 *   rbp = 0, rdi = arg,         in the context
 *   rsi = target
 */
#include "context_amd64.h"

    .text

/* The control words first, then the rest as the bare variant does it: execution falls through into
 * marl_fiber_swap. Storing the control words is cheap, loading them can cost thirty switches, and
 * they hardly ever differ. The exception flags in mxcsr often do, but belong to nobody.
 *
 * So aligned, all of a switch lies in two cache lines, and its last jump not across a boundary of
 * 32 bytes, where many processors are slow to jump. */
    .globl  marl_fiber_swap_fp
    .type   marl_fiber_swap_fp, @function
    .p2align 6
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
    jne     load_control_words
    .p2align 3                          /* the padding is run, so it belongs to this function */
    .cfi_endproc
    .size   marl_fiber_swap_fp, . - marl_fiber_swap_fp

    .globl  marl_fiber_swap
    .type   marl_fiber_swap, @function
marl_fiber_swap:
    .cfi_startproc
    endbr64
    popq    %rcx                        /* the return address; rsp is as after a return */
    .cfi_def_cfa_offset 0
    .cfi_register %rip, %rcx
    leaq    MARL_ALL_SAVED(%rsp), %rax
    movq    %rbx, MARL_REG_RBX(%rdi)
    movq    %rbp, MARL_REG_RBP(%rdi)
    movq    %r12, MARL_REG_R12(%rdi)
    movq    %r13, MARL_REG_R13(%rdi)
    movq    %r14, MARL_REG_R14(%rdi)
    movq    %r15, MARL_REG_R15(%rdi)
    movq    %rax, MARL_REG_RSP(%rdi)
    movq    %rcx, MARL_REG_RIP(%rdi)
    .cfi_endproc
    .size   marl_fiber_swap, . - marl_fiber_swap

/* The second half of each switch: execution falls through into it. marl_fiber_swap_inline jumps
 * here if what it resumes has MARL_ALL_SAVED: rsi = to, rcx = where the caller goes on, rsp = as it
 * is then. All registers are loaded, whatever the bit says: those that were not stored are dead.
 * There is no landing pad: whoever jumps here by a pointer does so by notrack. */
    .globl  marl_fiber_resume_all
    .type   marl_fiber_resume_all, @function
marl_fiber_resume_all:
    .cfi_startproc
    .cfi_def_cfa_offset 0
    .cfi_register %rip, %rcx
    movq    MARL_REG_RBX(%rsi), %rbx
    movq    MARL_REG_R12(%rsi), %r12
    movq    MARL_REG_R13(%rsi), %r13
    movq    MARL_REG_R14(%rsi), %r14
    movq    MARL_REG_R15(%rsi), %r15
    movq    MARL_REG_RIP(%rsi), %rdx
    movq    MARL_REG_RBP(%rsi), %rbp
    movq    MARL_REG_RSP(%rsi), %rax
    andq    $~MARL_ALL_SAVED, %rax
    movq    %rax, %rsp                  /* which a signal never finds with the bit in it */
    .cfi_register %rip, %rdx
    /* Not ret: the processor predicts a ret to come back to its own call, and here it never does.
     * A return site has no endbr64, hence notrack. */
    notrack jmp *%rdx
    .cfi_endproc
    .size   marl_fiber_resume_all, . - marl_fiber_resume_all

    .type   load_control_words, @function
load_control_words:
    .cfi_startproc
    ldmxcsr MARL_REG_MXCSR(%rsi)
    fldcw   MARL_REG_X87CW(%rsi)
    jmp     marl_fiber_swap
    .cfi_endproc
    .size   load_control_words, . - load_control_words

/* The first entry: rsp = top, rbp = 0, rsi = the context that was entered. An undefined return
 * address tells unwinders by CFI that no frame lies above, the zero rbp tells those that follow
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
