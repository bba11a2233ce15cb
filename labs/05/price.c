/* price [ROUNDS]: swaps there and back between main and one more context, by swapcontext of the C
 * library. Without ROUNDS it makes a hundred, to be counted; with ROUNDS it says what a swap took.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

static ucontext_t main_context, other_context;
static char stack[64 * 1024];

static void other(void) {
    for (;;)
        swapcontext(&other_context, &main_context);
}

static double nanoseconds(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

int main(int argc, char **argv) {
    long rounds = argc > 1 ? atol(argv[1]) : 100;

    if (rounds < 1) {
        fprintf(stderr, "price: %s rounds: give a number from 1 on\n", argv[1]);
        return 2;
    }
    getcontext(&other_context);
    other_context.uc_stack.ss_sp = stack;
    other_context.uc_stack.ss_size = sizeof stack;
    makecontext(&other_context, other, 0);

    double start = nanoseconds();

    for (long i = 0; i < rounds; i++)
        swapcontext(&main_context, &other_context);
    if (argc > 1)
        printf("%.1f ns a swap\n", (nanoseconds() - start) / (2.0 * rounds));
    return 0;
}
