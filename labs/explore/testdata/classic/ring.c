/* A ring for one producer and one consumer, without a lock.
 *
 * From L. Lamport, "Specifying Concurrent Program Modules", ACM Transactions on Programming
 * Languages and Systems 5 (1983). With -DRELAXED_PUSH the consumer may see the index before the
 * item. With -DRELAXED_POP the producer may write over an item that is still being read. With
 * -DOFF_BY_ONE it takes a full ring for one with room. */
#include <explore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef RELAXED_PUSH
#define PUSH memory_order_relaxed
#else
#define PUSH memory_order_release
#endif
#ifdef RELAXED_POP
#define POP memory_order_relaxed
#else
#define POP memory_order_release
#endif
#ifdef OFF_BY_ONE
#define FULL (SIZE + 1)
#else
#define FULL SIZE
#endif

enum { SIZE = 1, ITEMS = 2 };

static atomic_uint written, read;
static int slots[SIZE];

static bool push(int item) {
    unsigned w = atomic_load_explicit(&written, memory_order_relaxed);

    if (w - atomic_load_explicit(&read, memory_order_acquire) == FULL) {
        return false;
    }
    slots[w % SIZE] = item;
    atomic_store_explicit(&written, w + 1, PUSH);
    return true;
}

static bool pop(int *item) {
    unsigned r = atomic_load_explicit(&read, memory_order_relaxed);

    if (atomic_load_explicit(&written, memory_order_acquire) == r) {
        return false;
    }
    *item = slots[r % SIZE];
    atomic_store_explicit(&read, r + 1, POP);
    return true;
}

static void producer(void *unused) {
    (void)unused;
    for (int i = 1; i <= ITEMS; i++) {
        while (!push(i)) {
            explore_yield();
        }
    }
}

void explore_test(void) {
    int thread = explore_start(producer, NULL), item = 0;

    for (int i = 1; i <= ITEMS; i++) {
        while (!pop(&item)) {
            explore_yield();
        }
        explore_check(item == i, "items come in their order, each once");
    }
    explore_join(thread);
}
