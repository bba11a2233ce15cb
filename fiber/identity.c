/* A fiber's identity in the Go runtime: how it is bound, bounded and dropped.
 *
 * The first call into Go from a stack whose g slot is empty makes the runtime
 * lend it an extra M with a goroutine. The runtime believes that it lent it to
 * the thread; what it does for a thread's sake is set right for a fiber here.
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

/* Binding: a thread-specific key names the lent M's g, so that a destructor
 * gives the M back when the thread exits. A fiber's M is not the thread's: the
 * key is set back to what it named before. */
void fiberlab_identity_rebind(void *bound) {
    x_cgo_bindm(bound);
}

/* What the key names for the calling thread: its own g if the thread was made by
 * C and has called Go, else NULL. The key's number is not known outside of
 * runtime/cgo, its value is. */
void *fiberlab_identity_bound(void) {
    void *g = (void *)*fiberlab_slot();
    for (pthread_key_t key = 0; g && key < PTHREAD_KEYS_MAX; key++)
        if (pthread_getspecific(key) == g)
            return g;
    return NULL;
}

/* Dropping: by the call that the key's destructor would make. Must be made with
 * the identity in the slot and no Go frame of it alive. It may be another thread
 * than the one that the identity was lent on; the runtime would give it the signal
 * mask that the first one had. Empties the slot. */
void fiberlab_identity_drop(void *bound) {
    sigset_t mask;
    fiberlab_count_lent(-1);
    fiberlab_identity_rebind(bound);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    crosscall2(NULL, (void *)*fiberlab_slot(), 0, 0);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

/* How often a fiber's bounds were the answer; for the tests. */
uint64_t fiberlab_stack_bound_answers;

/* Bounds: the runtime asks for the bounds of the C stack below it. Asked
 * about a thread, glibc parses /proc/self/maps if it is the process's first, and
 * makes several system calls in any case; and the answer would be the thread's
 * stack, which is the wrong one. A fiber's bounds are known exactly, so its Go
 * code may use all of its C stack for nested calls. */
void fiberlab_stack_bound(uintptr_t bounds[2]) {
    fiberlab_fiber *current = fiberlab_thread_self()->current;
    if (current == NULL || current->root) {
        fiberlab_lending(NULL, fiberlab_m());
        x_cgo_getstackbound(bounds);
        return;
    }
    fiberlab_lending(current, fiberlab_m());
    fiberlab_count_lent(1);
    bounds[0] = current->stack_lo;
    bounds[1] = current->stack_hi;
    current->p = fiberlab_p();
    if (current->p)
        *current->p = fiberlab_thread_self()->p;
    __atomic_fetch_add(&fiberlab_stack_bound_answers, 1, __ATOMIC_RELAXED);
}
