/* A ring of contexts, each of which switches to the next by the default switch: the face for Go. */
#ifndef FIBERLAB_BENCH_RING_H
#define FIBERLAB_BENCH_RING_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__) || defined(__aarch64__)
#include "../asm/context.h"
#define CONTEXT struct marl_fiber_context
#define SET_TARGET marl_fiber_set_target
#define SWAP marl_fiber_swap_fp
#else
#include "../cgo_ucontext/context.h"
#define CONTEXT struct ucontext_fiber_context
#define SET_TARGET ucontext_fiber_set_target
#define SWAP ucontext_fiber_swap
#endif

struct member {
    CONTEXT context;
    struct member *next;
};

/* Gives a member, which another one follows in memory, the stack [lo, top). */
void ring_set_stack(struct member *m, uintptr_t lo, uintptr_t top);

/* Goes round once, and then laps times with the clock running. A lap passes members[0], which is
 * the caller on its thread's stack, and the n after it. Returns how many nanoseconds the laps took.
 */
uint64_t ring_run(struct member *members, size_t n, uint64_t laps);

#endif
