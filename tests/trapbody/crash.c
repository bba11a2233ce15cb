/* Code that ends the process. */
#include <stdlib.h>

#include "trapbody.h"
#include "../../asm/context.h"

static volatile int endless = 1;

/* Frames of less than a page, so that one of them touches the guard. */
__attribute__((noinline)) static int recurse(int depth) {
    volatile unsigned char frame[256];
    for (size_t i = 0; i < sizeof frame; i++)
        frame[i] = (unsigned char)depth;
    if (endless)
        depth = recurse(depth + 1);
    return depth + frame[17];
}

void trap_overflow(void *unused) {
    (void)unused;
    endless = recurse(0);
}

void trap_nil(void *unused) {
    (void)unused;
    volatile int *volatile nowhere = NULL;
    *nowhere = 1;
}

void trap_nil_after_go(void *callback) {
    trap_call_body(callback);
    trap_nil(NULL);
}

static void returns(void *unused) {
    (void)unused;
}

int trap_return_from_target(void) {
    static struct marl_fiber_context here, there;
    size_t size = 64 << 10;
    void *stack = malloc(size);
    if (!stack)
        return 1;
    marl_fiber_set_target(&there, stack, size, returns, NULL);
    marl_fiber_swap_fp(&here, &there);
    free(stack);
    return 0;
}
