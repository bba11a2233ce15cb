/* The switches of this directory's parent, as the prober sees them. */
#include "../inline.h"
#include "prober.h"

#include <stdlib.h>

static void set_target(void *ctx, void *stack, size_t size, void (*target)(void *), void *arg) {
    marl_fiber_set_target(ctx, stack, size, target, arg);
}

/* By pointer, so that the landing pads are used where branch targets are checked. */
typedef void switch_function(struct marl_fiber_context *, const struct marl_fiber_context *);
static switch_function *volatile bare = marl_fiber_swap;
static switch_function *volatile with_control = marl_fiber_swap_fp;

static void swap(void *from, const void *to) {
    bare(from, to);
}

static void swap_fp(void *from, const void *to) {
    with_control(from, to);
}

/* Calls nothing, so on amd64 the compiler may keep its variable below the stack pointer. */
static const void *resumed; /* the context that was resumed last */
static int mistaken;
__attribute__((noinline)) static void switch_inline(void *from, const void *to) {
    resumed = to;
    marl_fiber_swap_inline(from, to);
    mistaken |= resumed != from;
}

static void swap_inline(void *from, const void *to) {
    switch_inline(from, to);
    if (mistaken)
        abort();
}

#define CONTEXT                                                                                    \
    .context_size = sizeof(struct marl_fiber_context), .set_target = set_target,                   \
    .outermost = marl_fiber_trampoline, .outermost_size = 64

const struct variant variants[] = {
    {.name = "swap", .swap = swap, CONTEXT},
    {.name = "swap_fp", .swap = swap_fp, .keeps_control = 1, .exact_flags = 1, CONTEXT},
    {.name = "inline", .swap = swap_inline, .inlined = 1, CONTEXT},
    {.name = NULL},
};
