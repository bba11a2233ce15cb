/* Message passing: does a thread that sees the flag see the message, too? Outcome: flag, message.
 */
#include "litmus.h"

#ifndef STORE
#define STORE rlx
#endif
#ifndef LOAD
#define LOAD rlx
#endif

static atomic_int message, flag;
static int f, m;

static void writer(void *unused) {
    (void)unused;
    set(message, 1, rlx);
#ifdef FENCE_W
    atomic_thread_fence(FENCE_W);
#endif
    set(flag, 1, STORE);
}

static void reader(void *unused) {
    (void)unused;
#ifdef CAS /* it fails, and reads with the order LOAD */
    f = 9;
    atomic_compare_exchange_strong_explicit(&flag, &f, 5, LOAD, LOAD);
#else
    f = get(flag, LOAD);
#endif
#ifdef FENCE_R
    atomic_thread_fence(FENCE_R);
#endif
    m = get(message, rlx);
}

void explore_test(void) {
    together(writer, reader);
    explore_outcome(10 * f + m);
}
