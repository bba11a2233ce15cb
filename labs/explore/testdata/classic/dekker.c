/* Dekker's algorithm: two threads exclude one another by loads and stores.
 *
 * From E. W. Dijkstra, "Cooperating Sequential Processes" (EWD 123, 1965), section 2.1, who had it
 * from T. J. Dekker. It needs each thread's store of its flag to come before its load of the other
 * one's. With -DRELAXED, and with -DRELEASE_ACQUIRE as well, the store may be delayed past the
 * load. */
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

static atomic_int wants[2], turn;

static void enter(int me) {
    int other = 1 - me;

    atomic_store_explicit(&wants[me], 1, STORE);
    while (atomic_load_explicit(&wants[other], LOAD)) {
        if (atomic_load_explicit(&turn, LOAD) == me) {
            explore_yield();
            continue;
        }
        atomic_store_explicit(&wants[me], 0, STORE);
        while (atomic_load_explicit(&turn, LOAD) != me) {
            explore_yield();
        }
        atomic_store_explicit(&wants[me], 1, STORE);
    }
}

static void leave(int me) {
    atomic_store_explicit(&turn, 1 - me, STORE);
    atomic_store_explicit(&wants[me], 0, STORE);
}
