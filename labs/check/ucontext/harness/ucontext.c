/* What the grader of lab 5 calls: contexts as the C library makes them, and its own swap, to count
 * what that does. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

const size_t lab_ucontext_size = sizeof(ucontext_t);

/* Prepares a context that enters function with as many arguments as registers carry. */
void lab_makecontext(ucontext_t *ctx, void *stack, size_t size, void (*function)(void),
                     const uint64_t *args) {
    getcontext(ctx);
    ctx->uc_stack.ss_sp = stack;
    ctx->uc_stack.ss_size = size;
    ctx->uc_link = NULL;
#if defined(__x86_64__)
    makecontext(ctx, function, 6, args[0], args[1], args[2], args[3], args[4], args[5]);
#else
    makecontext(ctx, function, 8, args[0], args[1], args[2], args[3], args[4], args[5], args[6],
                args[7]);
#endif
}

/* The C library's own, by a name that the linker keeps. */
int lab_library_swapcontext(ucontext_t *from, const ucontext_t *to) {
    return swapcontext(from, to);
}
