/* The compiler saves what an asm statement says that it changes. The swap saves the rest by hand:
 * the stack pointer, where to go on, and x29, which no list of changed registers may name. It also
 * saves x19 and x20, which the entry needs. */
#ifndef CONTEXT_H
#define CONTEXT_H

#include <stddef.h>
#include <stdint.h>

struct marl_fiber_context {
    uint64_t sp, pc, x29, x19, x20;
};

extern const size_t marl_fiber_context_size;

/* Prepares ctx so that the first swap to it calls target(arg) on the stack [stack, stack + size).
 */
void marl_fiber_set_target(struct marl_fiber_context *ctx, void *stack, size_t size,
                           void (*target)(void *), void *arg);
void marl_fiber_swap(struct marl_fiber_context *from, const struct marl_fiber_context *to);
void marl_fiber_trampoline(void);

#endif
