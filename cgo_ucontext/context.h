/* The contract of asm/context.h on makecontext and swapcontext: the portable fallback, and the
 * rival in the cost table. swapcontext saves more than a call must, and asks the kernel for the
 * signal mask at each switch, which is where most of its time goes. */
#ifndef UCONTEXT_FIBER_CONTEXT_H
#define UCONTEXT_FIBER_CONTEXT_H

#include <stddef.h>
#include <ucontext.h>

/* Holds pointers into itself: once prepared or switched from, it must stay at its address. */
struct ucontext_fiber_context {
    ucontext_t uc;
    void (*target)(void *);
    void *arg;
};

/* Prepares ctx so that the first switch to it calls target(arg) on the stack [stack, stack + size).
 * stack is the lowest address, size is in bytes. The frames start at the highest multiple of 16
 * that is not above stack + size. The fiber starts in the ABI's default floating-point environment
 * and with the caller's signal mask. target must not return: if it does, a line goes to standard
 * error and the process aborts. The arguments are not checked. Never blocks. */
void ucontext_fiber_set_target(struct ucontext_fiber_context *ctx, void *stack, size_t size,
                               void (*target)(void *), void *arg);

/* Suspends the caller in from and resumes what is suspended in to, on this thread; returns when
 * some thread switches to from. from needs no preparation. to must have been prepared by
 * ucontext_fiber_set_target or been filled by a switch that left it, and is used up by this call.
 * The floating-point control state and the signal mask are each fiber's own. A fiber that moves to
 * another thread must be handed over with acquire and release ordering by the thread that moves it.
 */
void ucontext_fiber_swap(struct ucontext_fiber_context *from,
                         const struct ucontext_fiber_context *to);

#endif
