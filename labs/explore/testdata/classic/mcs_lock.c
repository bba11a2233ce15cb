/* The lock of Mellor-Crummey and Scott: each thread waits on a word of its own, which the one
 * before it clears.
 *
 * From J. M. Mellor-Crummey and M. L. Scott, "Algorithms for Scalable Synchronization on
 * Shared-Memory Multiprocessors", ACM Transactions on Computer Systems 9 (1991), algorithm 5. With
 * -DNO_WAIT_FOR_LINK the holder leaves without a look at who has come but is not linked yet: that
 * thread waits without end. With -DRELAXED_PASS a thread may miss what the one before it has done.
 * With -DRELAXED_LINK it may link a node that is not initialized. */
#include <explore.h>
#include <stdatomic.h>
#include <stddef.h>

#ifdef RELAXED_PASS
#define PASS memory_order_relaxed
#else
#define PASS memory_order_release
#endif
#ifdef RELAXED_LINK
#define LINK memory_order_relaxed
#else
#define LINK memory_order_release
#endif

struct node {
    struct node *_Atomic next;
    atomic_int waits;
};

static struct node *_Atomic tail;
static struct node nodes[2];
static int counter;

static void lock(struct node *me) {
    atomic_store_explicit(&me->next, NULL, memory_order_relaxed);
    atomic_store_explicit(&me->waits, 1, memory_order_relaxed);
    struct node *before = atomic_exchange_explicit(&tail, me, memory_order_acq_rel);
    if (before != NULL) {
        atomic_store_explicit(&before->next, me, LINK);
        while (atomic_load_explicit(&me->waits, memory_order_acquire)) {
            explore_yield();
        }
    }
}

static void unlock(struct node *me) {
    struct node *after = atomic_load_explicit(&me->next, memory_order_acquire);

    if (after == NULL) {
#ifdef NO_WAIT_FOR_LINK
        atomic_store_explicit(&tail, NULL, memory_order_release);
        return;
#else
        struct node *last = me;
        if (atomic_compare_exchange_strong_explicit(&tail, &last, NULL, memory_order_release,
                                                    memory_order_relaxed)) {
            return;
        }
        while ((after = atomic_load_explicit(&me->next, memory_order_acquire)) == NULL) {
            explore_yield();
        }
#endif
    }
    atomic_store_explicit(&after->waits, 0, PASS);
}

static void worker(void *node) {
    lock(node);
    counter++;
    unlock(node);
}

void explore_test(void) {
    int other = explore_start(worker, &nodes[1]);

    worker(&nodes[0]);
    explore_join(other);
    explore_check(counter == 2, "both have counted");
}
