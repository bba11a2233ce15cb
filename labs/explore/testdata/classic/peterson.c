/* Peterson's algorithm: two threads exclude one another by loads and stores.
 *
 * From G. L. Peterson, "Myths about the Mutual Exclusion Problem", Information Processing Letters
 * 12 (1981). It needs the stores of a thread to come before its loads. With -DRELAXED, and with
 * -DRELEASE_ACQUIRE as well, they need not. -DTURN_FIRST swaps the two stores, which is wrong in
 * any order of memory. */
#include "exclusion.h"
#include <stdatomic.h>

#if defined RELAXED
#define STORE memory_order_relaxed
#define LOAD memory_order_relaxed
#elif defined RELEASE_ACQUIRE
#define STORE memory_order_release
#define LOAD memory_order_acquire
#else
#define STORE memory_order_seq_cst
#define LOAD memory_order_seq_cst
#endif

static atomic_int wants[2], last;

static void enter(int me) {
#ifdef TURN_FIRST
    atomic_store_explicit(&last, me, STORE);
    atomic_store_explicit(&wants[me], 1, STORE);
#else
    atomic_store_explicit(&wants[me], 1, STORE);
    atomic_store_explicit(&last, me, STORE);
#endif
    while (atomic_load_explicit(&wants[1 - me], LOAD) && atomic_load_explicit(&last, LOAD) == me) {
        explore_yield();
    }
}

static void leave(int me) {
    atomic_store_explicit(&wants[me], 0, STORE);
}
