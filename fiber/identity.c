/* A fiber's identity in the Go runtime: its thread key, its stack's bounds, its end.
 *
 * The first call into Go from a stack whose g slot is empty makes the runtime
 * lend it an extra M with a goroutine. The runtime takes the borrower for a thread.
 * This file corrects the fields in which a fiber differs from a thread.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <signal.h>

#include "core.h"

/* runtime/cgo's own functions. */
extern void x_cgo_bindm(void *g);
extern void x_cgo_getstackbound(uintptr_t bounds[2]);
extern void crosscall2(void (*fn)(void *), void *g, int n, size_t ctxt);

/* Whether the key names a g for the calling thread: if C made the thread and it has called Go, it
 * names the thread's. The key's number is known to runtime/cgo alone, but its value is known here.
 */
int fiberlab_identity_has_key(void) {
    const void *g = (const void *)*fiberlab_slot();
    for (pthread_key_t key = 0; g && key < PTHREAD_KEYS_MAX; key++)
        if (pthread_getspecific(key) == g)
            return 1;
    return 0;
}

/* Whether the calling thread blocks all signals until it has dropped an identity, and what it
 * blocked before. */
static __thread volatile sig_atomic_t blocks __attribute__((tls_model("initial-exec")));
static __thread sigset_t blocked_before;

/* Blocks all signals until the identity in the slot is dropped, by fiberlab_identity_drop on the
 * same thread. While an M that was lent to C is between C and Go, the runtime may take its
 * scheduler's lock. It does so to enter C while the world is being stopped, or to drop the M while
 * it writes a trace. It then takes the thread for one without an M if a signal comes that Go
 * handles. It lends another M; to drop that takes the lock again, and the whole process freezes.
 * Returns 0, or the error of pthread_sigmask. */
int fiberlab_identity_block_signals(void) {
    sigset_t all, before;
    sigfillset(&all);
    /* Also if they are blocked: an M that was lent since has undone that. */
    int error = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (!blocks)
        blocked_before = before;
    blocks = 1;
    return error;
}

/* Drops the identity in the slot by the call that the key's destructor would make, and empties the
 * slot. No Go frame of the identity may be alive. The thread may be another one than the identity
 * was lent on; it keeps its signal mask, where the runtime would give it the first thread's. */
void fiberlab_identity_drop(void) {
    fiberlab_identity_block_signals();
    fiberlab_count_lent(-1);
    crosscall2(NULL, (void *)*fiberlab_slot(), 0, 0);
    blocks = 0;
    pthread_sigmask(SIG_SETMASK, &blocked_before, NULL);
}

/* Returns the fiber to which the runtime lends an M now, or NULL if it lends to the thread. */
static fiberlab_fiber *borrower(void) {
    fiberlab_fiber *current = fiberlab_thread_self()->current;
    return current && !current->root ? current : NULL;
}

/* Counts the Ms that were lent to fibers, for the probe. */
uint64_t fiberlab_binds;

/* Called by the runtime when it has lent the calling thread an M with g, and has written the
 * thread's number into it. The runtime expects that the thread's key names g, so that a destructor
 * drops the M when the thread exits. A fiber's M is not the thread's, so then the key stays as it
 * is. */
void fiberlab_bind(void *g) {
    fiberlab_fiber *f = borrower();
    fiberlab_lending(f, fiberlab_m());
    if (!f) {
        x_cgo_bindm(g);
        return;
    }
    __atomic_fetch_add(&fiberlab_binds, 1, __ATOMIC_RELAXED);
    fiberlab_count_lent(1);
    f->p = fiberlab_p();
    if (f->p)
        *f->p = fiberlab_thread_self()->p;
}

/* Counts the answers that were a fiber's bounds, for the probe and the tests. */
uint64_t fiberlab_stack_bound_answers;

/* Answers the runtime's question for the bounds of the C stack that it was entered from. glibc
 * would answer with the thread's stack, which is the wrong one, after several system calls, and on
 * the process's first thread after parsing /proc/self/maps. A fiber's bounds are known exactly, so
 * its Go code may use all of its C stack for nested calls. */
void fiberlab_stack_bound(uintptr_t bounds[2]) {
    const fiberlab_fiber *f = borrower();
    if (!f) {
        x_cgo_getstackbound(bounds);
        return;
    }
    bounds[0] = f->stack_lo;
    bounds[1] = f->stack_hi;
    __atomic_fetch_add(&fiberlab_stack_bound_answers, 1, __ATOMIC_RELAXED);
}
