/* In debug builds, each switch checks that what it resumes may be resumed by it.
 *
 *     suspended by         may be resumed by
 *     (prepared)           marl_fiber_swap   marl_fiber_swap_fp   marl_fiber_swap_inline
 *     marl_fiber_swap      marl_fiber_swap
 *     marl_fiber_swap_fp   marl_fiber_swap   marl_fiber_swap_fp
 *     marl_fiber_swap_inline                                      marl_fiber_swap_inline
 *     (resumed already)
 *
 * A debug build is one with -DMARL_DEBUG. Give it to all C files that switch between the same
 * contexts, or to none of them. The layout of a context is the same either way, and the assembly
 * does not know of it: here, C callers get switches that check first.
 *
 * context.h includes this file. */
#ifndef MARL_CHECK_H
#define MARL_CHECK_H

/* What a context says of itself in debug builds. */
enum marl_switch {
    MARL_RESUMED,
    MARL_PREPARED,
    MARL_BY_SWAP,
    MARL_BY_SWAP_FP,
    MARL_BY_SWAP_INLINE,
};

/* Notes that `by` suspends from and resumes to. If it may not resume to, writes one line to
 * standard error and aborts the process. */
void marl_fiber_check(struct marl_fiber_context *from, const struct marl_fiber_context *to,
                      enum marl_switch by);

#ifdef MARL_DEBUG
#define MARL_CHECK(from, to, by) marl_fiber_check(from, to, by)

static inline void marl_fiber_swap_checked(struct marl_fiber_context *from,
                                           const struct marl_fiber_context *to) {
    marl_fiber_check(from, to, MARL_BY_SWAP);
    marl_fiber_swap(from, to);
}
#define marl_fiber_swap marl_fiber_swap_checked

static inline void marl_fiber_swap_fp_checked(struct marl_fiber_context *from,
                                              const struct marl_fiber_context *to) {
    marl_fiber_check(from, to, MARL_BY_SWAP_FP);
    marl_fiber_swap_fp(from, to);
}
#define marl_fiber_swap_fp marl_fiber_swap_fp_checked

#else
#define MARL_CHECK(from, to, by) ((void)0)
#endif
#endif
