/* A program on the swap of labs 2 and 3, to be stopped in stop. */
#include <stdio.h>

#if defined(__x86_64__)
#include "../../../labs/02/context.h"
#else
#include "../../../labs/03/context.h"
#endif

static struct marl_fiber_context caller, fiber;
static char stack[1 << 16] __attribute__((aligned(16)));

static __attribute__((noinline)) int descend(int depth) {
    volatile int here = depth;
    if (depth > 0)
        return descend(depth - 1) + here;
    marl_fiber_swap(&fiber, &caller);
    return here;
}

static void body(void *unused) {
    (void)unused;
    printf("%d\n", descend(3));
    marl_fiber_swap(&fiber, &caller);
}

/* Inlined: then the function that stands still has two frames. */
static inline __attribute__((always_inline)) void stop(void) {
    __asm__ volatile("nop" ::: "memory");
}

int main(void) {
    marl_fiber_set_target(&fiber, stack, sizeof stack, body, NULL);
    marl_fiber_swap(&caller, &fiber);
    stop();
    marl_fiber_swap(&caller, &fiber);
    return 0;
}
