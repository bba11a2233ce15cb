/* The C library's sigsetjmp and siglongjmp, without the signal mask: no system call. They were not
 * made to leave a stack and come back to it; on Linux it works. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stddef.h>
#include <ucontext.h>

struct jump_context {
    sigjmp_buf registers;
};

/* What enter is given, which takes no pointer by makecontext. */
static _Thread_local struct {
    struct jump_context *context;
    ucontext_t maker, fresh;
    void (*target)(void *);
    void *arg;
} entry;

static void enter(void) {
    void (*target)(void *) = entry.target;
    void *arg = entry.arg;
    if (!sigsetjmp(entry.context->registers, 0))
        swapcontext(&entry.fresh, &entry.maker);
    target(arg);
}

/* Enters the stack once, to have the registers of a place on it. */
static void jump_set_target(struct jump_context *context, void *stack, size_t size,
                            void (*target)(void *), void *arg) {
    getcontext(&entry.fresh);
    entry.fresh.uc_stack.ss_sp = stack;
    entry.fresh.uc_stack.ss_size = size;
    entry.context = context;
    entry.target = target;
    entry.arg = arg;
    makecontext(&entry.fresh, enter, 0);
    swapcontext(&entry.maker, &entry.fresh);
}

__attribute__((noinline)) static void jump_swap(struct jump_context *from,
                                                struct jump_context *to) {
    if (!sigsetjmp(from->registers, 0))
        siglongjmp(to->registers, 1);
}

#define PINGPONG pingpong_sigsetjmp
#define CONTEXT struct jump_context
#define SET_TARGET jump_set_target
#define SWAP jump_swap
#include "pingpong.h"
