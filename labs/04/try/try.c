/* A program around your files, to run and to debug. The grader does not see it.
 *
 *     make try                a fiber runs and swaps back
 *     make try DO=return      its body returns
 *     make try DO=overflow    its body calls itself forever
 *     make try DO=crash       its body stores to address 0
 */
#include "context.h"
#include "../stack.h"

#include <stdio.h>
#include <string.h>

static struct marl_fiber_context outside, inside;

static int depth(int n) {
    volatile char frame[100] = {0};

    return n == 0 ? 0 : depth(n + 1) + frame[0];
}

static void body(void *arg) {
    const char *what = arg;

    printf("in the body: arg is \"%s\", its frame is at %p\n", what, __builtin_frame_address(0));
    fflush(stdout);
    if (strcmp(what, "return") == 0)
        return;
    if (strcmp(what, "overflow") == 0)
        depth(1);
    if (strcmp(what, "crash") == 0)
        *(volatile char *)0 = 0;
    marl_fiber_swap(&inside, &outside);
}

int main(int argc, char **argv) {
    static struct fiber fiber = {.name = "tried"};
    int error = stack_map(&fiber.stack, 100000);

    if (error == 0)
        error = overflow_watch(&fiber, 1, 3);
    if (error != 0) {
        fprintf(stderr, "try: %s\n", strerror(error));
        return 1;
    }
    printf("the stack: %p up to %p\n", (void *)fiber.stack.lo,
           (void *)(fiber.stack.lo + fiber.stack.size));
    marl_fiber_set_target(&inside, fiber.stack.lo, fiber.stack.size, body,
                          argc > 1 ? argv[1] : "swap");
    marl_fiber_swap(&outside, &inside);
    printf("back in main\n");
    return stack_unmap(&fiber.stack);
}
