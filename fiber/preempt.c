/* Keeping the runtime able to interrupt fibers.
 *
 * To interrupt a goroutine that does not come to rest by itself, the runtime marks
 * its M and sends SIGURG to the M's thread. The handler clears the mark of the M
 * that it finds running there; until then no further signal is sent to this M. Two
 * things go wrong with fibers, and then a loop without calls holds up the collector
 * for as long as it runs:
 *
 * The fiber has left its thread before the signal comes, so that another M's mark is
 * cleared and its own stays for good. Hence whoever comes back to a thread after any
 * such signal sends itself one more.
 *
 * The fiber has come to another thread than the one that its M was lent on, so that
 * the signal goes astray. Hence the thread's number in the M is put right. Where in
 * the M that is, is found as the g slot is: by its value, on two threads. If it is
 * not found, fibers that have moved cannot be interrupted; all else works.
 */
#define _GNU_SOURCE
#include <unistd.h>

#include "core.h"

/* Signals that have arrived, on any thread, but those of fiberlab_preempt_again. */
uint32_t fiberlab_preemptions;

static struct sigaction go_action;
static __thread volatile sig_atomic_t again __attribute__((tls_model("initial-exec")));

static void on_preemption(int sig, siginfo_t *info, void *context) {
    if (again)
        again = 0;
    else
        __atomic_fetch_add(&fiberlab_preemptions, 1, __ATOMIC_RELAXED);
    fiberlab_pass_on(&go_action, sig, info, context);
}

/* Puts the count before Go's own handler. Call it once. Returns 0, or an errno. */
int fiberlab_watch_preemption(void) {
    return fiberlab_watch(SIGURG, on_preemption, &go_action);
}

/* Makes the runtime clear the mark of the M that the calling fiber runs on. */
static void preempt_again(fiberlab_fiber *f) {
    f->preemptions = __atomic_load_n(&fiberlab_preemptions, __ATOMIC_RELAXED);
    again = 1;
    raise(SIGURG);
}

/* How many words of an M are searched; it has many more. */
enum { SEARCHED = 32 };

static int tid_word = -1;

/* Called from Go on a thread that the runtime has made; m is its M. Returns how often
 * the thread's number was found; the word is known if that is exactly once. */
int fiberlab_find_tid(uintptr_t m) {
    int hits = 0, at = 0;
    for (int i = 0; i < SEARCHED; i++)
        if (((uint64_t *)m)[i] == (uint64_t)gettid()) {
            hits++;
            at = i;
        }
    tid_word = hits == 1 ? at : -1;
    return hits;
}

/* The same on another thread. Forgets the word if it is not the right one. */
int fiberlab_verify_tid(uintptr_t m) {
    if (tid_word >= 0 && ((uint64_t *)m)[tid_word] != (uint64_t)gettid())
        tid_word = -1;
    return tid_word >= 0;
}

/* Called from Go by the running fiber f once it has been lent m, which may still
 * have a mark from its last owner. */
void fiberlab_lent(fiberlab_fiber *f, uintptr_t m) {
    f->m = tid_word >= 0 ? (uint64_t *)m + tid_word : NULL;
    f->tid = fiberlab_thread_self()->tid;
    preempt_again(f);
}

/* Called by the fiber f, which has an identity, when it has come back to a thread. */
void fiberlab_back(fiberlab_fiber *f) {
    int32_t tid = fiberlab_thread_self()->tid;
    int moved = f->m && f->tid != tid;
    if (moved) {
        f->tid = tid;
        __atomic_store_n(f->m, (uint64_t)tid, __ATOMIC_RELAXED);
    }
    if (moved || f->preemptions != __atomic_load_n(&fiberlab_preemptions, __ATOMIC_RELAXED))
        preempt_again(f);
}
