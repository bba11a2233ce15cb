/* The deque of ../classic/chase_lev.c in a test of 32 events: the owner pushes twice and takes
 * twice, the other thread steals twice. deque.cpp is the same for relacy. */
#include <explore.h>
#include <stdatomic.h>
#include <stddef.h>

enum { SIZE = 4, EMPTY = -1 };

static atomic_int top, bottom, slots[SIZE];
static int work[2];

static void push(int item) {
    int b = atomic_load_explicit(&bottom, memory_order_relaxed);

    atomic_store_explicit(&slots[b % SIZE], item, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&bottom, b + 1, memory_order_relaxed);
}

static int take(void) {
    int b = atomic_load_explicit(&bottom, memory_order_relaxed) - 1;

    atomic_store_explicit(&bottom, b, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    int t = atomic_load_explicit(&top, memory_order_relaxed);
    if (t > b) {
        atomic_store_explicit(&bottom, b + 1, memory_order_relaxed);
        return EMPTY;
    }
    int item = atomic_load_explicit(&slots[b % SIZE], memory_order_relaxed);
    if (t == b) {
        if (!atomic_compare_exchange_strong_explicit(&top, &t, t + 1, memory_order_seq_cst,
                                                     memory_order_relaxed)) {
            item = EMPTY;
        }
        atomic_store_explicit(&bottom, b + 1, memory_order_relaxed);
    }
    return item;
}

static int steal(void) {
    int t = atomic_load_explicit(&top, memory_order_acquire);

    atomic_thread_fence(memory_order_seq_cst);
    int b = atomic_load_explicit(&bottom, memory_order_acquire);
    if (t >= b) {
        return EMPTY;
    }
    int item = atomic_load_explicit(&slots[t % SIZE], memory_order_relaxed);
    if (!atomic_compare_exchange_strong_explicit(&top, &t, t + 1, memory_order_seq_cst,
                                                 memory_order_relaxed)) {
        return EMPTY;
    }
    return item;
}

static void use(int item) {
    if (item != EMPTY) {
        explore_check(++work[item] == 11 + item, "each item is taken once, with its work");
    }
}

static void thief(void *unused) {
    (void)unused;
    use(steal());
    use(steal());
}

void explore_test(void) {
    int other = explore_start(thief, NULL);

    for (int item = 0; item < 2; item++) {
        work[item] = 10 + item;
        push(item);
    }
    use(take());
    use(take());
    explore_join(other);
}
