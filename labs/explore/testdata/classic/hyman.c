/* Hyman's algorithm for mutual exclusion, which does not exclude.
 *
 * From H. Hyman, "Comments on a problem in concurrent programming control", Communications of the
 * ACM 9 (1966); D. E. Knuth showed its fault in the same year. A thread tests the other one's flag,
 * then takes the turn: in between the other one may pass. It is wrong even if all accesses are
 * sequentially consistent. -DCORRECT takes Peterson's way. */
#include "exclusion.h"
#include <stdatomic.h>

static atomic_int wants[2], turn;

static void enter(int me) {
    atomic_store(&wants[me], 1);
#ifdef CORRECT
    atomic_store(&turn, 1 - me);
    while (atomic_load(&wants[1 - me]) && atomic_load(&turn) != me) {
        explore_yield();
    }
#else
    while (atomic_load(&turn) != me) {
        while (atomic_load(&wants[1 - me])) {
            explore_yield();
        }
        atomic_store(&turn, me);
    }
#endif
}

static void leave(int me) {
    atomic_store(&wants[me], 0);
}
