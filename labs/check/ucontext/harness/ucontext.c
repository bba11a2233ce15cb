/* What the grader of lab 5 calls: contexts as the C library makes them, and its own swap, to count
 * what that does. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
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

/* Prepares a context that enters function and, when that returns, goes on with what lab_swapcontext
 * has saved in link. */
void lab_makecontext_linked(ucontext_t *ctx, void *stack, size_t size, void (*function)(void),
                            ucontext_t *link) {
    getcontext(ctx);
    ctx->uc_stack.ss_sp = stack;
    ctx->uc_stack.ss_size = size;
    ctx->uc_link = link;
    makecontext(ctx, function, 0);
}

/* The only word of a context that lab_swapcontext may leave as it was, and that setcontext needs.
 */
void lab_empty_mask(ucontext_t *ctx) {
    sigemptyset(&ctx->uc_sigmask);
}

/* Returns 2, if the x87 unit is as a call must leave it: empty, and without an exception that
 * waits. */
int lab_add_by_x87(void) {
#if defined(__x86_64__)
    int sum;

    __asm__ volatile("fld1\n"
                     "fld1\n"
                     "faddp\n"
                     "fistpl %0\n"
                     "fwait"
                     : "=m"(sum)
                     :
                     : "st");
    return sum;
#else
    return 2;
#endif
}

/* The C library's own, by a name that the linker keeps. */
int lab_library_swapcontext(ucontext_t *from, const ucontext_t *to) {
    return swapcontext(from, to);
}
