/* Code that ends the process. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trapbody.h"
#include "../../../fiber/core.h"

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

/* arm64 divides by 0 without a signal. */
void trap_divide(void *unused) {
    (void)unused;
#ifdef __x86_64__
    volatile int zero = 0;
    endless = endless / zero;
#else
    raise(SIGFPE);
#endif
}

void trap_illegal(void *unused) {
    (void)unused;
#ifdef __x86_64__
    __asm__ volatile("ud2");
#elif defined(__aarch64__)
    __asm__ volatile(".inst 0");
#else
    raise(SIGILL);
#endif
}

void trap_breakpoint(void *unused) {
    (void)unused;
#ifdef __x86_64__
    __asm__ volatile("int3");
#elif defined(__aarch64__)
    __asm__ volatile("brk 0");
#else
    raise(SIGTRAP);
#endif
}

/* Reads what is mapped beyond the end of its file. */
void trap_bus(void *unused) {
    (void)unused;
    int empty = memfd_create("empty", 0);
    volatile char *beyond = mmap(NULL, 4096, PROT_READ, MAP_SHARED, empty, 0);
    close(empty);
    endless = *beyond;
}

void trap_abort(void *unused) {
    (void)unused;
    abort();
}

static void returns(void *unused) {
    (void)unused;
}

#ifdef FIBERLAB_HAS_ASM
#define CONTEXT struct marl_fiber_context
#define SET_TARGET marl_fiber_set_target
#define SWAP marl_fiber_swap_fp
#else
#include "../../../cgo_ucontext/context.h"
#define CONTEXT struct ucontext_fiber_context
#define SET_TARGET ucontext_fiber_set_target
#define SWAP ucontext_fiber_swap
#endif

int trap_return_from_target(void) {
    static CONTEXT here, there;
    size_t size = 64 << 10;
    void *stack = malloc(size);
    if (!stack)
        return 1;
    SET_TARGET(&there, stack, size, returns, NULL);
    SWAP(&here, &there);
    free(stack);
    return 0;
}
