/* Moving the P itself from the fiber that leaves to the fiber that comes.
 *
 * processor.c tells an M which P to take when it returns from C. Since Go 1.26 the M that is in C
 * keeps the P in its own name until another takes it. Taking it is expensive. The taker claims the
 * goroutine that is in C, makes the P idle and counts it twice: five atomic operations, on a
 * stack of the runtime's. So here the P is moved before the fiber that comes returns from C, which
 * then finds it in its own name, as if it had never left Go.
 *
 * The one rule is the runtime's own (setBlockOnExitSyscall in its proc.go): the thread that has set
 * the scan bit of a goroutine in C may take its P. Until that bit is cleared, the goroutine does
 * not return from C and no other thread sets the bit.
 *
 *                   M of A, which leaves    P             M of B, which comes
 *                   m.p, A's status         p.m           m.p, B's status
 *     A in C        P    in C               M of A        0    in C
 *     claimed       P    in C + scan        M of A        0    in C
 *     moved         0    in C + scan        M of B        P    in C
 *     released      0    in C               M of B        P    in C
 *
 * A thread that takes the P at any moment finds either the scan bit set, or an M, a goroutine and a
 * P that name one another. If they do not, it gives up, as it does when a goroutine returns from C
 * at the same time. The m.p of B is written last: a thread that holds an older p.m, which named B,
 * must not find the P in B's name before p.m says so.
 *
 * The words are found by their values, on two threads. If they are not, as on Go 1.24 and 1.25, the
 * P is not moved, and processor.c has its way. The same holds if Go is newer than the releases that
 * were tested. */
#include "core.h"

/* The values of g.atomicstatus. */
enum { GO_RUNNING = 2, GO_IN_C = 3, GO_SCAN = 0x1000 };

/* Words of an M, of a P and of a g, in which these are; in 32 bits for the status. */
struct words {
    int p_of_m, m_of_p, m_of_g, status_of_g;
};
static struct words found;
static int used;

static int find(const uintptr_t *words, int n, uintptr_t value, int *at) {
    int hits = 0;
    for (int i = 0; i < n; i++)
        if (words[i] == value) {
            hits++;
            *at = i;
        }
    return hits == 1;
}

/* Finds the words in the caller's M, its P and its goroutine. */
static int search(const struct fiberlab_words *then, struct words *w) {
    const uintptr_t *m = (const uintptr_t *)then->m, *remembered = fiberlab_p();
    uintptr_t p = remembered ? *remembered : 0;
    int hits = 0;
    for (int i = 0; p && i < FIBERLAB_SEARCHED_M; i++)
        if (then->of_m[i] == p && m[i] == p) {
            hits++;
            w->p_of_m = i;
        }
    if (hits != 1 || !find((const uintptr_t *)p, FIBERLAB_SEARCHED_P, then->m, &w->m_of_p) ||
        !find((const uintptr_t *)then->g, FIBERLAB_SEARCHED_G / 2, then->m, &w->m_of_g))
        return 0;
    const uint32_t *g = (const uint32_t *)then->g, *g_then = (const uint32_t *)then->of_g;
    hits = 0;
    for (int i = 0; i < 2 * FIBERLAB_SEARCHED_G; i++)
        if (g_then[i] == GO_RUNNING && g[i] == GO_IN_C) {
            hits++;
            w->status_of_g = i;
        }
    return hits == 1;
}

/* Called from Go by a goroutine that is locked to its thread. Returns whether the words were found;
 * the caller may try again. */
int fiberlab_find_handover(const struct fiberlab_words *then) {
    return search(then, &found);
}

/* The same on another thread. Returns whether the words are where they were found. */
int fiberlab_verify_handover(const struct fiberlab_words *then) {
    struct words w = {0};
    return search(then, &w) && w.p_of_m == found.p_of_m && w.m_of_p == found.m_of_p &&
           w.m_of_g == found.m_of_g && w.status_of_g == found.status_of_g;
}

/* Has fiberlab_hand_over move Ps from now on, if use is not 0. */
void fiberlab_use_handover(int use) {
    used = use;
}

/* Gives the P of from, which is about to leave, to to, which has been claimed. Does nothing if to
 * has a P, if from has none any more, or if either has no goroutine that is in C. The same holds if
 * another thread is just looking at the goroutine of from. */
void fiberlab_hand_over(const fiberlab_fiber *from, const fiberlab_fiber *to) {
    if (!used || !from->go_g || !to->go_g)
        return;
    uintptr_t *from_p = (uintptr_t *)from->go_m + found.p_of_m;
    uintptr_t *to_p = (uintptr_t *)to->go_m + found.p_of_m;
    if (__atomic_load_n(to_p, __ATOMIC_RELAXED) || !__atomic_load_n(from_p, __ATOMIC_RELAXED))
        return;
    uint32_t *status = (uint32_t *)from->go_g + found.status_of_g, in_c = GO_IN_C;
    if (!__atomic_compare_exchange_n(status, &in_c, GO_IN_C | GO_SCAN, 0, __ATOMIC_SEQ_CST,
                                     __ATOMIC_RELAXED))
        return;
    uintptr_t p = *from_p;
    if (p && ((uintptr_t *)from->go_g)[found.m_of_g] == from->go_m) {
        __atomic_store_n(from_p, 0, __ATOMIC_RELAXED);
        __atomic_store_n((uintptr_t *)p + found.m_of_p, to->go_m, __ATOMIC_RELAXED);
        __atomic_store_n(to_p, p, __ATOMIC_RELEASE);
    }
    __atomic_store_n(status, GO_IN_C, __ATOMIC_RELEASE);
}
