/* Deleting the timers of CPU profiles that dropped Ms have left.
 *
 * While a CPU profile is taken the runtime gives each M a timer of the kernel's, and it
 * deletes the timer when the M next enters Go after the profile. A dropped M does not, until it
 * is lent again. So all are lent once more, one after the other and without dropping any in
 * between, which would only bring the same one back.
 */
#include <stdlib.h>
#include <sys/time.h>

#include "_cgo_export.h"
#include "core.h"

/* Ms that fibers have now, and the most that they have had at a time. */
static int64_t lent, most_lent;

/* Whether the calling thread has borrowed all dropped Ms. They are not counted. Fibers that are
 * entered at that time have further Ms. If these counted, each time would ask for more Ms than
 * there are, and the runtime would make them. */
static __thread volatile int lends_all __attribute__((tls_model("initial-exec")));

void fiberlab_count_lent(int n) {
    if (lends_all)
        return;
    int64_t now = __atomic_add_fetch(&lent, n, __ATOMIC_RELAXED);
    int64_t most = __atomic_load_n(&most_lent, __ATOMIC_RELAXED);
    while (now > most && !__atomic_compare_exchange_n(&most_lent, &most, now, 0, __ATOMIC_RELAXED,
                                                      __ATOMIC_RELAXED))
        ;
}

/* How many Ms fibers have had and dropped. */
int64_t fiberlab_dropped(void) {
    return __atomic_load_n(&most_lent, __ATOMIC_RELAXED) - __atomic_load_n(&lent, __ATOMIC_RELAXED);
}

/* Whether a CPU profile is being taken. */
int fiberlab_profiling(void) {
    struct itimerval timer;
    return getitimer(ITIMER_PROF, &timer) == 0 &&
           (timer.it_interval.tv_sec != 0 || timer.it_interval.tv_usec != 0);
}

/* A C body: has that many Ms lent to it, and drops them all. */
void fiberlab_lend_all(void *count) {
    volatile uintptr_t *slot = fiberlab_slot();
    int64_t n = *(int64_t *)count, got = 0;
    uintptr_t *gs = malloc((size_t)n * sizeof *gs);
    lends_all = 1;
    for (; gs && got < n; got++) {
        fiberlabEnterGo();
        gs[got] = *slot;
        *slot = 0;
    }
    while (got > 0) {
        *slot = gs[--got];
        fiberlab_identity_drop();
    }
    lends_all = 0;
    free(gs);
}
