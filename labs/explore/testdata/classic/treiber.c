/* Treiber's stack, and the ABA problem.
 *
 * From R. K. Treiber, "Systems Programming: Coping with Parallelism", IBM Research Report RJ 5118
 * (1986); the problem and the counter that solves it are in the IBM System/370 Principles of
 * Operation, appendix A. A thread loads the top A and the next node B; another one pops A and B and
 * pushes A again. The compare-and-swap of the first one finds A, and makes B the top. With
 * -DNO_COUNTER the top has no counter. With -DRELAXED_PUSH a node may be seen before its content.
 */
#include <explore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifdef RELAXED_PUSH
#define PUSH memory_order_relaxed
#else
#define PUSH memory_order_release
#endif

enum { NODES = 3, NONE = 0 };

static atomic_uint top; /* the number of a node from 1 up, and above it a count of changes */
static atomic_uint next[NODES + 1];
static int content[NODES + 1];

static unsigned changed(unsigned old, unsigned node) {
#ifdef NO_COUNTER
    (void)old;
    return node;
#else
    return ((old >> 8) + 1) << 8 | node;
#endif
}

static void push(unsigned node) {
    unsigned old = atomic_load_explicit(&top, memory_order_relaxed);

    do {
        atomic_store_explicit(&next[node], old & 0xff, memory_order_relaxed);
    } while (!atomic_compare_exchange_strong_explicit(&top, &old, changed(old, node), PUSH,
                                                      memory_order_relaxed));
}

static unsigned pop(void) {
    unsigned old = atomic_load_explicit(&top, memory_order_acquire);

    for (;;) {
        unsigned node = old & 0xff;
        if (node == NONE) {
            return NONE;
        }
        unsigned below = atomic_load_explicit(&next[node], memory_order_relaxed);
        if (atomic_compare_exchange_strong_explicit(&top, &old, changed(old, below),
                                                    memory_order_acquire, memory_order_acquire)) {
            return node;
        }
    }
}

static unsigned owned[2]; /* by the other thread: what it has popped and not pushed */

static void other(void *unused) {
    (void)unused;
    unsigned a = pop(), b = pop();

    if (a != NONE) {
        content[a]++; /* it has the node alone */
        push(a);
    }
    owned[0] = b;
}

void explore_test(void) {
    for (unsigned node = 1; node <= 2; node++) {
        push(node);
    }
    int thread = explore_start(other, NULL);
    unsigned mine = pop();
    if (mine != NONE) {
        content[mine]++;
    }
    explore_join(thread);
    unsigned last = pop();
    explore_check(last == NONE || (last != mine && last != owned[0]), "no node is in two places");
}
