/* A context that a C function can fill: a stack pointer, a place to go on and a frame pointer. All
 * else the compiler saves, being told that the swap changes every register. */
#ifndef INLINE_CONTEXT_H
#define INLINE_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

struct marl_fiber_context {
    uintptr_t sp;
    void (*resume)(void);
    uintptr_t fp;
    void (*target)(void *);
    void *arg;
};

extern const size_t marl_fiber_context_size;

void marl_fiber_set_target(struct marl_fiber_context *ctx, void *stack, size_t size,
                           void (*target)(void *), void *arg);
void marl_fiber_swap(struct marl_fiber_context *from, const struct marl_fiber_context *to);
void marl_fiber_trampoline(void);
void marl_fiber_first_entry(const struct marl_fiber_context *ctx);
__attribute__((noreturn)) void marl_fiber_returned(void);

#endif
