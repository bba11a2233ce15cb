/* Switches between fibers of the two mechanisms.
 *
 * Each fiber is saved by its own mechanism, and must be resumed by what saved it.
 * Where the two agree a switch is one call. Where they do not, one half of a
 * switch of each kind is needed: to save without resuming, and the reverse.
 */
#define _GNU_SOURCE /* for the names of the registers in a ucontext_t */
#include <stdlib.h>

#include "../cgo_ucontext/context.h"
#include "core.h"

#ifdef FIBERLAB_HAS_ASM
/* Saves by assembly and resumes by setcontext, which runs on the thread's own scratch
 * memory. The leaver may be near the end of its stack, and the dynamic linker, which may
 * have to find setcontext first, needs room. That half is never resumed. */
static void resume_ucontext(void *uc) {
    setcontext(uc);
    abort();
}

static void asm_to_ucontext(fiberlab_fiber *from, fiberlab_fiber *to) {
    struct marl_fiber_context half;
    marl_fiber_set_target(&half, fiberlab_thread_self()->root->scratch, FIBERLAB_SCRATCH,
                          resume_ucontext, &to->ucontext->uc);
    marl_fiber_swap_fp(&from->context, &half);
}

/* Saves by getcontext, which returns a second time when the leaver is resumed, and
 * resumes by assembly; what that saves is not needed. */
static void ucontext_to_asm(fiberlab_fiber *from, fiberlab_fiber *to) {
    volatile int resumed = 0;
    struct marl_fiber_context unwanted;
    getcontext(&from->ucontext->uc);
    if (!resumed) {
        resumed = 1;
        marl_fiber_swap_fp(&unwanted, &to->context);
    }
}
#endif

/* The stack pointer in uc, or 0 where this file does not know the processor. */
uintptr_t fiberlab_saved_sp(const ucontext_t *uc) {
#if defined(__x86_64__)
    return (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    return (uintptr_t)uc->uc_mcontext.sp;
#elif defined(__riscv)
    return (uintptr_t)uc->uc_mcontext.__gregs[REG_SP];
#else
    (void)uc;
    return 0;
#endif
}

/* The stack pointer of a block that is not running: nothing below it is in use. It is the lowest
 * address of the stack if no more is known. */
uintptr_t fiberlab_block_sp(const fiberlab_fiber *block) {
#if defined(__x86_64__)
    if (block->saved == FIBERLAB_BY_ASM)
        return block->context.rsp;
#elif defined(__aarch64__)
    if (block->saved == FIBERLAB_BY_ASM)
        return block->context.sp;
#endif
    uintptr_t sp = fiberlab_saved_sp(&block->ucontext->uc);
    return sp ? sp : block->stack_lo;
}

/* Switches where the C library saves or resumes, or both. */
void fiberlab_swap_by_library(fiberlab_fiber *from, fiberlab_fiber *to) {
#ifdef FIBERLAB_HAS_ASM
    if (from->own == FIBERLAB_BY_ASM) {
        asm_to_ucontext(from, to);
        return;
    }
    if (to->saved == FIBERLAB_BY_ASM) {
        ucontext_to_asm(from, to);
        return;
    }
#endif
    ucontext_fiber_swap(from->ucontext, to->ucontext);
}
