/* The work-stealing deque of package sched/forkjoin, restated for an array that does not grow.
 *
 * The owner pushes and pops at the bottom, a thief steals from the top. pop stores bottom and then
 * loads top, steal loads top and then bottom, so that one of them sees the other at the last item.
 *
 * The planted faults: each macro of an order may be weakened. -DSTORE_POP stores bottom in pop
 * where it should exchange. -DBOTTOM_FIRST swaps the loads of steal. -DNO_CAS_POP lets the owner
 * take the last item without asking. -DLATE_SLOT loads the slot after top was incremented.
 * -DKEEP_BOTTOM leaves bottom too small. */
#include <explore.h>
#include <stdatomic.h>
#include <stddef.h>

enum { SIZE = 2, ITEMS = 3 };

#ifndef PUSH_SLOT /* the orders of: push, pop and steal, at bottom, top and the slots */
#define PUSH_SLOT memory_order_release
#endif
#ifndef PUSH_BOTTOM
#define PUSH_BOTTOM memory_order_release
#endif
#ifndef POP_BOTTOM
#define POP_BOTTOM memory_order_seq_cst
#endif
#ifndef POP_TOP
#define POP_TOP memory_order_seq_cst
#endif
#ifndef POP_TAKE
#define POP_TAKE memory_order_seq_cst
#endif
#ifndef STEAL_TOP
#define STEAL_TOP memory_order_seq_cst
#endif
#ifndef STEAL_BOTTOM
#define STEAL_BOTTOM memory_order_seq_cst
#endif
#ifndef STEAL_SLOT
#define STEAL_SLOT memory_order_seq_cst
#endif
#ifndef STEAL_TAKE
#define STEAL_TAKE memory_order_seq_cst
#endif

struct item {
    int work;
};

static atomic_ulong top, bottom;
static struct item *_Atomic slots[SIZE];
static struct item items[ITEMS];

static struct item *slot_of(unsigned long index) {
    return atomic_load_explicit(&slots[index % SIZE], STEAL_SLOT);
}

static void push(struct item *x) {
    unsigned long b = atomic_load_explicit(&bottom, memory_order_relaxed);

    atomic_store_explicit(&slots[b % SIZE], x, PUSH_SLOT);
    atomic_store_explicit(&bottom, b + 1, PUSH_BOTTOM);
}

static struct item *pop_last(unsigned long b) {
#ifdef NO_CAS_POP
    atomic_store(&top, b + 1);
#else
    unsigned long expected = b;
    if (!atomic_compare_exchange_strong_explicit(&top, &expected, b + 1, POP_TAKE,
                                                 memory_order_relaxed)) {
        return NULL;
    }
#endif
    return slot_of(b);
}

static struct item *pop(void) {
    unsigned long b = atomic_load_explicit(&bottom, memory_order_relaxed) - 1,
                  t = atomic_load(&top);

    if (t == b + 1) {
        return NULL;
    }
    if (t == b) {
        return pop_last(b);
    }
#ifdef STORE_POP
    atomic_store_explicit(&bottom, b, memory_order_release);
#else
    atomic_exchange_explicit(&bottom, b, POP_BOTTOM);
#endif
    t = atomic_load_explicit(&top, POP_TOP);
    if ((long)(b - t) > 0) {
        return slot_of(b);
    }
    struct item *x = t == b ? pop_last(b) : NULL;
#ifndef KEEP_BOTTOM
    atomic_store_explicit(&bottom, b + 1, memory_order_release);
#endif
    return x;
}

static struct item *steal(void) {
#ifdef BOTTOM_FIRST
    unsigned long b = atomic_load_explicit(&bottom, STEAL_BOTTOM),
                  t = atomic_load_explicit(&top, STEAL_TOP);
#else
    unsigned long t = atomic_load_explicit(&top, STEAL_TOP),
                  b = atomic_load_explicit(&bottom, STEAL_BOTTOM);
#endif
    if ((long)(b - t) <= 0) {
        return NULL;
    }
#ifndef LATE_SLOT
    struct item *x = slot_of(t);
#endif
    if (!atomic_compare_exchange_strong_explicit(&top, &t, t + 1, STEAL_TAKE,
                                                 memory_order_relaxed)) {
        return NULL;
    }
#ifdef LATE_SLOT
    struct item *x = slot_of(t);
#endif
    return x;
}

static void use(struct item *x) {
    if (x != NULL) {
        explore_check(x->work == 42, "the work of an item was there before the item");
        explore_take((unsigned long)(x - items));
    }
}

static void thief(void *unused) {
    (void)unused;
    use(steal());
    use(steal());
}

void explore_test(void) {
    int thread = explore_start(thief, NULL);

    for (int i = 0; i < ITEMS; i++) {
        items[i].work = 42;
        while (atomic_load(&bottom) - atomic_load(&top) == SIZE) { /* full */
            use(pop());
        }
        explore_put((unsigned long)i);
        push(&items[i]);
    }
    use(pop());
    use(pop());
    explore_join(thread);
    use(pop());
}
