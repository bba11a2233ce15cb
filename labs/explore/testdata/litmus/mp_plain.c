/* Message passing with a message that is not atomic: the reader touches it only after the flag.
 * Outcome: flag, message. */
#include "litmus.h"

#ifndef STORE
#define STORE rel
#endif
#ifndef LOAD
#define LOAD acq
#endif

static int message;
static atomic_int flag;
static int f, m;

static void writer(void *unused) {
    (void)unused;
    message = 1;
#ifdef FENCE_W
    atomic_thread_fence(FENCE_W);
#endif
    set(flag, 1, STORE);
}

static void reader(void *unused) {
    (void)unused;
    f = get(flag, LOAD);
    if (f) {
#ifdef FENCE_R
        atomic_thread_fence(FENCE_R);
#endif
        m = message;
    }
}

void explore_test(void) {
    together(writer, reader);
    explore_outcome(10 * f + m);
}
