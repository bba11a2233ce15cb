/* Keeping fibers interruptible by the runtime.
 *
 * To interrupt a goroutine that does not stop by itself, the runtime marks
 * its M and sends SIGURG to the M's thread. The handler counts the request as met and
 * clears the mark of the M that it finds running there; until then no further signal
 * is sent to this M. Three things go wrong, and then a loop without calls holds up the
 * collector for as long as it runs:
 *
 * The fiber has left its thread before the signal comes, so that another M's mark is
 * cleared and its own stays for good. Hence a fiber that comes back to a thread after any
 * such signal does for its M what the handler would have done.
 *
 * The signal meets an M that was lent to C and is back in C, where the runtime's handler
 * ignores it, or an M that has just been dropped. Since Go 1.26 a dropped M may also still have its
 * P. Then the runtime marks it, but has no thread to send a signal to, and may do so even while the
 * M is being lent again. Either mark outlives the lending. Hence the handler's part is done for an
 * M in C, here, and for a dropped one once it is lent again and has its thread's number. Plain
 * threads of C have the same trouble, and the same remedy.
 *
 * The fiber has come to another thread than its M was lent on, so that
 * the signal goes astray. Hence the thread's number in the M is put right.
 *
 * Where in the M the words are is found as the g slot is, on two threads. The number is found by
 * its value, the count and the mark by what the handler does to them. The first thread of a
 * container has number 1, which other words of its M hold too; on a second thread they differ
 * from its number. The M's own number may keep step with the thread's, but a fiber and its root
 * have two Ms on one thread. Without the number, fibers that have moved cannot be
 * interrupted; without the others, a fiber that comes back sends itself one more signal, and
 * C bodies stay exposed. All else works.
 */
#define _GNU_SOURCE
#include <unistd.h>

#include "core.h"

/* Counts the signals that have arrived, on any thread, except clear_mark's. */
uint32_t fiberlab_preemptions;

static struct sigaction go_action;
static __thread volatile sig_atomic_t again __attribute__((tls_model("initial-exec")));

static uint32_t tid_words = ~(uint32_t)0; /* a bit for each word of 64 bits that it may be */
static int tid_word = -1;                 /* the last of them */
static int count_word = -1;               /* of 32 bits, as the next */
static int mark_word = -1;

/* Returns the word that is the mark of m, or NULL if unknown. */
uint32_t *fiberlab_mark(uintptr_t m) {
    return mark_word >= 0 && m ? (uint32_t *)m + mark_word : NULL;
}

/* Does for an M with a mark what the runtime's handler does. The M has the right thread's number
 * then, so that the signal for a later mark goes to that thread. */
static void acknowledge(uintptr_t m) {
    uint32_t *mark = fiberlab_mark(m);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (!mark || !__atomic_load_n(mark, __ATOMIC_RELAXED))
        return;
    __atomic_fetch_add((uint32_t *)m + count_word, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(mark, 0, __ATOMIC_SEQ_CST);
}

/* Returns the word in which m counts the requests that were met, or NULL if unknown. */
const uint32_t *fiberlab_requests_met(uintptr_t m) {
    return mark_word >= 0 && m ? (const uint32_t *)m + count_word : NULL;
}

static void on_preemption(int sig, siginfo_t *info, void *context) {
    if (again)
        again = 0;
    else
        __atomic_fetch_add(&fiberlab_preemptions, 1, __ATOMIC_RELAXED);
    fiberlab_pass_on(&go_action, sig, info, context);
    acknowledge(fiberlab_m());
}

/* Puts the count before Go's own handler. Call it once. Returns 0, or an errno. */
int fiberlab_watch_preemption(void) {
    return fiberlab_watch(SIGURG, on_preemption, &go_action);
}

/* Clears the mark of the M that the calling fiber runs on, or has the runtime do so. */
static void clear_mark(fiberlab_fiber *f) {
    uintptr_t m = fiberlab_m();
    f->preemptions = __atomic_load_n(&fiberlab_preemptions, __ATOMIC_RELAXED);
    if (fiberlab_mark(m))
        acknowledge(m);
    else {
        again = 1;
        raise(SIGURG);
    }
}

/* How many words of an M are searched; it has more of both. */
enum { SEARCHED = 32, SEARCHED_32 = 320, SIGNALS = 3 };

/* The count is the one word that grows by 1 with each signal. If the runtime sends a signal
 * in between, the word is not found, and the caller tries again. */
static int find_count(volatile uint32_t *words) {
    static uint32_t then[SEARCHED_32]; /* too much for the stack; this runs once */
    for (int i = 0; i < SEARCHED_32; i++)
        then[i] = words[i];
    for (int i = 0; i < SIGNALS; i++)
        raise(SIGURG);
    int hits = 0, at = -1;
    for (int i = 0; i < SEARCHED_32; i++)
        if (words[i] - then[i] == SIGNALS) {
            hits++;
            at = i;
        }
    return hits == 1 ? at : -1;
}

/* Whether a signal makes a 0 of the 1 that is put there: the runtime would have put it there itself
 * before it sent the signal. Leaves any other word as it was. */
static int is_mark(uint32_t *word) {
    uint32_t none = 0, one = 1;
    if (!__atomic_compare_exchange_n(word, &none, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        return 0;
    raise(SIGURG);
    return !__atomic_compare_exchange_n(word, &one, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* Finds the count and the mark, which are neighbours. Called from Go by a goroutine that is locked
 * to its thread; m is its M. */
void fiberlab_find_mark(uintptr_t m) {
    uint32_t *words = (uint32_t *)m;
    int count = -1;
    for (int attempts = 0; count < 1 && attempts < 10; attempts++)
        count = find_count(words);
    if (count < 1)
        return;
    count_word = count;
    if (is_mark(words + count + 1))
        mark_word = count + 1;
    else if (is_mark(words + count - 1))
        mark_word = count - 1;
}

/* The same on another thread. Forgets the words if they are not the right ones. */
void fiberlab_verify_mark(uintptr_t m) {
    uint32_t *mark = fiberlab_mark(m);
    if (mark && !is_mark(mark))
        mark_word = -1;
}

/* Called from Go on a thread whose M, or whose fiber's M, is m. Rules out the words that do not
 * hold the thread's number. Returns how many words may still be the one; if it is one, it is known.
 */
int fiberlab_narrow_tid(uintptr_t m) {
    for (int i = 0; i < SEARCHED; i++)
        if (((uint64_t *)m)[i] != (uint64_t)gettid())
            tid_words &= ~((uint32_t)1 << i);
    int left = __builtin_popcount(tid_words);
    tid_word = left == 1 ? __builtin_ctz(tid_words) : -1;
    return left;
}

/* Called on the way into Go by a thread that has been lent m, for the fiber f or, if that is NULL,
 * for plain C. The thread's number is in m. m may still have a mark from its last owner. */
void fiberlab_lending(fiberlab_fiber *f, uintptr_t m) {
    acknowledge(m);
    if (f) {
        f->m = tid_word >= 0 && m ? (uint64_t *)m + tid_word : NULL;
        f->tid = fiberlab_thread_self()->tid;
    }
}

/* Called from Go by the running fiber f once it has been lent m with the goroutine g. Not all
 * of what fiberlab_lending does may have been possible. */
void fiberlab_lent(fiberlab_fiber *f, uintptr_t m, uintptr_t g) {
    f->go_m = m;
    f->go_g = g;
    fiberlab_lending(f, m);
    clear_mark(f);
}

/* Called by the fiber f, which has an identity, when it has come back to a thread. */
void fiberlab_back(fiberlab_fiber *f) {
    int32_t tid = fiberlab_thread_self()->tid;
    int moved = f->m && f->tid != tid;
    if (moved) {
        f->tid = tid;
        __atomic_store_n(f->m, (uint64_t)tid, __ATOMIC_SEQ_CST);
    }
    if (moved || f->preemptions != __atomic_load_n(&fiberlab_preemptions, __ATOMIC_RELAXED))
        clear_mark(f);
}
