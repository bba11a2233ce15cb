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

/* The kinds that swap_mixed chooses from must not be inlined: a function that contains the inline
 * switch saves all registers, and would hide that the bare one lost some. */
#define APART __attribute__((noinline))

APART static void swap(void *from, const void *to) {
    bare(from, to);
}

static void swap_fp(void *from, const void *to) {
    with_control(from, to);
}

/* Calls nobody, so on amd64 the compiler may keep its variable below the stack pointer. */
static const void *back_in; /* the context that was resumed last */
APART static void swap_inline(void *from, const void *to) {
    marl_fiber_swap_inline(from, to);
    back_in = from;
}

/* What one suspends the other resumes: two inline switches, three bare ones. So the kinds meet in
 * all ways, and as five is odd, on both sides. */
static void swap_mixed(void *from, const void *to) {
    static int calls;

    if (calls++ % 5 >= 2) {
        swap(from, to);
        return;
    }
    swap_inline(from, to);
    if (back_in != from)
        abort();
}

#define CONTEXT                                                                                    \
    .context_size = sizeof(struct marl_fiber_context), .set_target = set_target,                   \
    .outermost = marl_fiber_trampoline, .outermost_size = 64

const struct variant variants[] = {
    {.name = "swap", .swap = swap, CONTEXT},
    {.name = "swap_fp", .swap = swap_fp, .keeps_control = 1, .exact_flags = 1, CONTEXT},
    {.name = "inline", .swap = swap_inline, .inlined = 1, CONTEXT},
    {.name = "mixed", .swap = swap_mixed, CONTEXT},
    {.name = NULL},
};
