/* The context of a fiber and the functions that switch between contexts.
 *
 * A context holds what a suspended fiber needs to resume: the registers that a C function must
 * preserve, the stack pointer and the resume address. A switch is a call of a function that
 * returns on another stack. All other registers are dead at a call, so they need not be saved. */
#ifndef MARL_CONTEXT_H
#define MARL_CONTEXT_H

#if defined(__x86_64__)
#include "context_amd64.h"
#elif defined(__aarch64__)
#include "context_arm64.h"
#else
#error "fiberlab: no context layout for this processor: build for amd64 or arm64"
#endif

#ifndef __ASSEMBLER__

#include <stddef.h>

/* Prepares ctx so that the first switch to it calls target(arg) on the stack [stack, stack + size).
 * stack is the lowest address, size is in bytes. The frames start at the highest multiple of 16
 * that is not above stack + size. The memory is not touched until the first switch. The fiber
 * starts in the ABI's default floating-point environment if marl_fiber_swap_fp enters it. target
 * must not return: if it does, the process ends in marl_fiber_returned. The arguments are not
 * checked. Never blocks. */
void marl_fiber_set_target(struct marl_fiber_context *ctx, void *stack, size_t size,
                           void (*target)(void *), void *arg);

/* Suspends the caller in from and resumes what is suspended in to, on this thread; returns when
 * some thread switches to from. from needs no preparation. to must have been prepared by
 * marl_fiber_set_target, or filled by marl_fiber_swap or marl_fiber_swap_fp. This call uses it up:
 * it may be resumed again only after another switch has filled it. A fiber that moves to
 * another thread must be handed over with acquire and release ordering by the thread that moves it.
 *
 * The floating-point control state (rounding mode, exception masks, flush to zero) stays as it is,
 * so that a change of it by one fiber is seen by the next. This is the bare variant; its difference
 * to marl_fiber_swap_fp is the price of keeping that state apart. */
void marl_fiber_swap(struct marl_fiber_context *from, const struct marl_fiber_context *to);

/* As marl_fiber_swap, and the floating-point control state is each fiber's own. to must not have
 * been filled by marl_fiber_swap, which leaves no such state in it. The exception flags
 * (fetestexcept) are not kept apart: as across any call, they are undefined after a switch. */
void marl_fiber_swap_fp(struct marl_fiber_context *from, const struct marl_fiber_context *to);

/* The bottom frame of every fiber. Only a switch may enter it; it is declared so that a debugger,
 * or a test, can recognise its address. */
void marl_fiber_trampoline(void);

/* Where a target that returned ends: writes one line to standard error and aborts the process. */
__attribute__((noreturn)) void marl_fiber_returned(void);

#include "check.h"

#endif
#endif
