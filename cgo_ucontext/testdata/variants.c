/* The switch of this directory's parent, as the prober of asm/testdata sees it. */
#include "../context.h"
#include "../../asm/testdata/prober.h"

static void set_target(void *ctx, void *stack, size_t size, void (*target)(void *), void *arg) {
    ucontext_fiber_set_target(ctx, stack, size, target, arg);
}

static void swap(void *from, const void *to) {
    ucontext_fiber_swap(from, to);
}

const struct variant variants[] = {
    {
        .name = "ucontext",
        .context_size = sizeof(struct ucontext_fiber_context),
        .keeps_control = 1,
        .set_target = set_target,
        .swap = swap,
    },
    {.name = NULL},
};
