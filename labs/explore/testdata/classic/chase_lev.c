/* The work-stealing deque of Chase and Lev, with the memory orders of Lê and others.
 *
 * From D. Chase and Y. Lev, "Dynamic Circular Work-Stealing Deque", SPAA 2005. The orders come from
 * N. M. Lê, A. Pop, A. Cohen and F. Zappa Nardelli, "Correct and Efficient Work-Stealing for Weak
 * Memory Models", PPoPP 2013. The faults: -DNO_TAKE_FENCE, -DNO_STEAL_FENCE and -DNO_PUSH_FENCE
 * leave a fence out. -DRELAXED_STEAL lets the thief load bottom without acquire. -DNO_CAS lets the
 * owner take the last item without asking. */
#include <explore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { SIZE = 4, EMPTY = -1, ITEMS = 2 };

static atomic_long top, bottom;
static atomic_int slots[SIZE];
static int work[ITEMS]; /* written before the item is pushed, read by the thread that takes it */

static void push(int item) {
    long b = atomic_load_explicit(&bottom, memory_order_relaxed);

    atomic_store_explicit(&slots[b % SIZE], item, memory_order_relaxed);
#ifndef NO_PUSH_FENCE
    atomic_thread_fence(memory_order_release);
#endif
    atomic_store_explicit(&bottom, b + 1, memory_order_relaxed);
}

static int take(void) {
    long b = atomic_load_explicit(&bottom, memory_order_relaxed) - 1;

    atomic_store_explicit(&bottom, b, memory_order_relaxed);
#ifndef NO_TAKE_FENCE
    atomic_thread_fence(memory_order_seq_cst);
#endif
    long t = atomic_load_explicit(&top, memory_order_relaxed);
    if (t > b) {
        atomic_store_explicit(&bottom, b + 1, memory_order_relaxed);
        return EMPTY;
    }
    int item = atomic_load_explicit(&slots[b % SIZE], memory_order_relaxed);
    if (t == b) {
#ifndef NO_CAS
        if (!atomic_compare_exchange_strong_explicit(&top, &t, t + 1, memory_order_seq_cst,
                                                     memory_order_relaxed)) {
            item = EMPTY;
        }
#endif
        atomic_store_explicit(&bottom, b + 1, memory_order_relaxed);
    }
    return item;
}

static int steal(void) {
    long t = atomic_load_explicit(&top, memory_order_acquire);

#ifndef NO_STEAL_FENCE
    atomic_thread_fence(memory_order_seq_cst);
#endif
#ifdef RELAXED_STEAL
    long b = atomic_load_explicit(&bottom, memory_order_relaxed);
#else
    long b = atomic_load_explicit(&bottom, memory_order_acquire);
#endif
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
    if (item == EMPTY) {
        return;
    }
    explore_check(work[item] == item + 10, "the work of an item was there before the item");
    explore_take((unsigned long)item);
}

static void thief(void *unused) {
    (void)unused;
    use(steal());
    use(steal());
}

void explore_test(void) {
    int other = explore_start(thief, NULL);

    for (int i = 0; i < ITEMS; i++) {
        work[i] = i + 10;
        explore_put((unsigned long)i);
        push(i);
    }
    use(take());
    use(take());
    explore_join(other);
    use(take());
}
