/* Giving back the memory of a dropped identity.
 *
 * The runtime keeps every M that it has ever lent, to lend it again. Each M has two Go stacks: its
 * goroutine's, as large as it has grown, and one of 32 KB for signals. A fiber never uses the
 * latter, since its thread has one. Pages that were written stay in memory. The Go frames of a
 * fiber that ends are gone, so both stacks are free. Their pages are given back to the system, and
 * come back as zeroes when they are next written. The addresses stay the runtime's.
 *
 * While an M is lent on a thread that has an alternate signal stack, it keeps the bounds
 * of its own signal stack in two neighbouring words. They are found by their distance.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "core.h"

enum { SEARCHED = 64, SIGNAL_STACK = 32 << 10, PAGE = 4 << 10 };

/* Returns the words of m that hold the bounds of its signal stack, or NULL if that is uncertain.
 * Exactly one pair of neighbours must be that far apart, and the same pair in each M. */
static const uintptr_t *signal_stack(const uintptr_t *m) {
    static int known; /* 1 + the index of the first word */
    int found = 0;
    stack_t used;
    if (sigaltstack(NULL, &used) != 0)
        return NULL;
    for (int i = 0; i + 1 < SEARCHED; i++) {
        if (m[i] == 0 || m[i] % PAGE != 0 || m[i + 1] - m[i] != SIGNAL_STACK ||
            m[i] == (uintptr_t)used.ss_sp)
            continue;
        if (found)
            return NULL;
        found = i + 1;
    }
    int none = 0;
    if (!found || !(__atomic_compare_exchange_n(&known, &none, found, 0, __ATOMIC_RELAXED,
                                                __ATOMIC_RELAXED) ||
                    none == found))
        return NULL;
    return m + found - 1;
}

static void give_back(const uintptr_t bounds[2]) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t lo = (bounds[0] + page - 1) & -page, hi = bounds[1] & -page;
    if (lo < hi)
        madvise((void *)lo, hi - lo, MADV_DONTNEED);
}

/* Called by the fiber that runs on m, with the goroutine g, when the last of its Go frames has
 * returned and before m is dropped. A g begins with the bounds of its stack. */
void fiberlab_give_back(uintptr_t m, uintptr_t g) {
    const uintptr_t *own = signal_stack((const uintptr_t *)m);
    if (own)
        give_back(own);
    give_back((const uintptr_t *)g);
}
