/* The way of one switch, from the check to the arrival.
 *
 *     claim     the target's state goes from Ready or Suspended to Running, by
 *               compare-and-swap: of two threads that want the same fiber, one gets it
 *     leave     the g slot and the thread's record change to the target's, then the
 *               registers do
 *     arrive    on the target's stack: only now is the fiber that left complete in
 *               memory, so only now is it published as Suspended (or Finished), and
 *               another thread may claim it
 *
 * The g slot is the word by which the Go runtime knows which thread it is on. It
 * is treated as one more callee-saved register: so to the runtime each fiber
 * is a separate thread, with a separate goroutine for its Go frames.
 */
#include "announce.h"
#include "core.h"

#include <stdio.h>
#include <stdlib.h>

#include "../cgo_ucontext/context.h"
#include "_cgo_export.h"

/* Each function that is not called between the swap and its caller in Go is a return less that the
 * processor has to predict. */
#define INLINE static inline __attribute__((always_inline))

static uint64_t load_state(fiberlab_fiber *f) {
    return __atomic_load_n(&f->state, __ATOMIC_ACQUIRE);
}

/* Makes to Running, or says why it cannot be run. expect is its generation as
 * the caller knows it; any generation will do when check is 0. was comes out as
 * the state's word before. */
static int claim(struct fiberlab_thread *thread, fiberlab_fiber *to, int check, uint64_t expect,
                 uint64_t *was) {
    uint64_t seen = load_state(to);
    for (;;) {
        uint64_t generation = seen & ~FIBERLAB_STATE_MASK;
        if (check && generation != expect)
            return FIBERLAB_CLOSED;
        switch ((enum fiberlab_state)(seen & FIBERLAB_STATE_MASK)) {
        case FIBERLAB_STATE_CLOSED:
            return FIBERLAB_CLOSED;
        case FIBERLAB_STATE_RUNNING:
            return FIBERLAB_RUNNING;
        case FIBERLAB_STATE_FINISHED:
            return FIBERLAB_FINISHED;
        case FIBERLAB_STATE_READY:
        case FIBERLAB_STATE_SUSPENDED:
            break;
        }
        if (to->root && to != thread->root)
            return FIBERLAB_FOREIGN_ROOT;
        if (__atomic_compare_exchange_n(&to->state, &seen, generation | FIBERLAB_STATE_RUNNING, 0,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            *was = seen;
            return FIBERLAB_OK;
        }
    }
}

/* Runs on the stack of self, the fiber that was switched to. */
static void arrive(fiberlab_fiber *self) {
    struct fiberlab_thread *thread = fiberlab_thread_self();
    fiberlab_fiber *departed = thread->departed;
    announce_arrive(self, departed);
    thread->departed = NULL;
    __atomic_store_n(&departed->state, thread->departed_state, __ATOMIC_RELEASE);
}

/* Makes self, whose stack served another fiber, begin as on a fresh one. */
static void begin(fiberlab_fiber *self) {
    struct fiberlab_thread *thread = fiberlab_thread_self();
    announce_begin(self);
    fiberlab_default_fp();
    if (thread->exceptions)
        *thread->exceptions = (struct fiberlab_exceptions){0};
}

/* Saves from's registers by its own mechanism, and resumes to by what saved it. */
INLINE void fiberlab_swap(fiberlab_fiber *from, fiberlab_fiber *to) {
    from->saved = from->own;
#ifdef FIBERLAB_HAS_ASM
    if (from->own == FIBERLAB_BY_ASM && to->saved == FIBERLAB_BY_ASM) {
        fiberlab_swap_balanced(&from->context, &to->context);
        return;
    }
#endif
    fiberlab_swap_by_library(from, to);
}

/* Whether fiberlab_back has something to do for f, which has come back to a thread. */
static int has_missed(const fiberlab_fiber *f) {
    return f->tid != fiberlab_thread_self()->tid ||
           f->preemptions != __atomic_load_n(&fiberlab_preemptions, __ATOMIC_RELAXED);
}

/* Saves the calling context as from and resumes to, which the caller has claimed.
 * from comes out as Suspended or, when it is ending, as Finished. */
INLINE void leave(struct fiberlab_thread *thread, fiberlab_fiber *from, fiberlab_fiber *to,
                  enum fiberlab_state as) {
    volatile uintptr_t *slot = fiberlab_slot();
    from->g = *slot;
    from->preemptions = __atomic_load_n(&fiberlab_preemptions, __ATOMIC_RELAXED);
    *slot = to->g;
    if (from->p)
        thread->p = *from->p;
    if (to->p)
        *to->p = thread->p;
    fiberlab_hand_over(from, to);
    if (thread->exceptions) {
        from->exceptions = *thread->exceptions;
        *thread->exceptions = to->exceptions;
    }

    thread->departed = from;
    thread->departed_state = (load_state(from) & ~FIBERLAB_STATE_MASK) | as;
    thread->current = to;
    thread->current_index = to->index;

    announce_leave(from, to);
    fiberlab_swap(from, to);
    arrive(from);
    if (as == FIBERLAB_STATE_FINISHED)
        begin(from); /* back as the stack of another fiber */
    if (from->g != 0 && has_missed(from))
        fiberlab_back(from);
}

INLINE int switch_from(fiberlab_fiber *from, fiberlab_fiber *to, int check, uint64_t expect,
                       enum fiberlab_state as) {
    struct fiberlab_thread *thread = fiberlab_thread_self();
    uint64_t was;
    if (thread->current == NULL)
        return FIBERLAB_NOT_FIBER;
    if (thread->current != from)
        return FIBERLAB_NOT_CURRENT;
    int error = claim(thread, to, check, expect, &was);
    if (error == FIBERLAB_RUNNING && to == from)
        return FIBERLAB_SELF;
    if (error != FIBERLAB_OK)
        return error;
    /* A root has no mechanism: it leaves by its target's. */
    if (from->root)
        from->own = to->saved;
    if (from->own != FIBERLAB_BY_ASM)
        error = fiberlab_block_reserve(from);
    if (error != FIBERLAB_OK) {
        __atomic_store_n(&to->state, was, __ATOMIC_RELEASE);
        return error;
    }
    leave(thread, from, to, as);
    return FIBERLAB_OK;
}

/* Go's way in: the request lies in the control block of the fiber that leaves. */
void fiberlab_switch_call(struct fiberlab_call *call) {
    call->error = switch_from(call->from, call->to, 1, call->expect,
                              call->ending ? FIBERLAB_STATE_FINISHED : FIBERLAB_STATE_SUSPENDED);
}

int fiberlab_switch(fiberlab_fiber *to) {
    struct fiberlab_thread *thread = fiberlab_thread_self();
    if (thread->current == NULL)
        return FIBERLAB_NOT_FIBER;
    if (to == NULL)
        return FIBERLAB_CLOSED;
    return switch_from(thread->current, to, 0, 0, FIBERLAB_STATE_SUSPENDED);
}

fiberlab_fiber *fiberlab_current(void) {
    return fiberlab_thread_self()->current;
}

/* The last act of a fiber whose stack is not needed any more. */
static void end(fiberlab_fiber *self) {
    struct fiberlab_thread *thread = fiberlab_thread_self();
    if (self->p)
        thread->p = *self->p;
    if (self->go_g)
        fiberlab_give_back(self->go_m, self->go_g);
    self->go_m = self->go_g = 0;
    if (*fiberlab_slot() != 0)
        fiberlab_identity_drop();
    self->g = 0;
    self->m = NULL;
    self->p = NULL;
    self->gone = 1;
    int error = switch_from(self, thread->root, 0, 0, FIBERLAB_STATE_FINISHED);
    fprintf(stderr, "fiberlab: fiber \"%s\" could not end: %s\n", self->name,
            fiberlab_error_text(error));
    abort();
}

/* Where every fiber begins, on its own stack. fiberlabServe runs Go bodies, one after the other. It
 * returns when the runner is retired, and then end drops the identity. */
static void fiber_main(void *p) {
    fiberlab_fiber *self = p;
    arrive(self);
    if (self->body)
        self->body(self->argument);
    else
        fiberlabServe(self->index);
    end(self);
}

/* Prepares block, which is not running. The next switch to it begins fiber_main on the stack
 * [stack_lo, top). The given mechanism is the block's own from now on. Returns a fiberlab_error. */
int fiberlab_block_aim(fiberlab_fiber *block, int mechanism, uintptr_t stack_lo, uintptr_t top) {
    block->own = block->saved = (uint8_t)mechanism;
    block->g = 0;
    block->m = NULL;
    block->p = NULL;
    announce_fresh(stack_lo, top);
    block->gone = 0;
    block->exceptions = (struct fiberlab_exceptions){0};
    block->fake_stack = NULL;
    int error = fiberlab_block_reserve(block);
    if (error != FIBERLAB_OK)
        return error;
    if (mechanism == FIBERLAB_BY_UCONTEXT)
        ucontext_fiber_set_target(block->ucontext, (void *)stack_lo, top - stack_lo, fiber_main,
                                  block);
#ifdef FIBERLAB_HAS_ASM
    else
        marl_fiber_set_target(&block->context, (void *)stack_lo, top - stack_lo, fiber_main, block);
#endif
    return FIBERLAB_OK;
}

const char *fiberlab_error_text(int error) {
    switch ((enum fiberlab_error)error) {
    case FIBERLAB_OK:
        return "no error";
    case FIBERLAB_NOT_FIBER:
        return "the calling thread has no root fiber";
    case FIBERLAB_NOT_CURRENT:
        return "the fiber named as leaving does not run on the calling thread";
    case FIBERLAB_SELF:
        return "a fiber cannot switch to itself";
    case FIBERLAB_RUNNING:
        return "the target is running on another thread";
    case FIBERLAB_FINISHED:
        return "the target's body has returned";
    case FIBERLAB_CLOSED:
        return "the target was closed";
    case FIBERLAB_FOREIGN_ROOT:
        return "the target is the root fiber of another thread";
    case FIBERLAB_NO_MEMORY:
        return "no memory for the context";
    }
    return "unknown error";
}
