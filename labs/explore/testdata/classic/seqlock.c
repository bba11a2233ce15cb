/* A seqlock: a reader reads without a lock, and again if a writer came between.
 *
 * From H.-J. Boehm, "Can Seqlocks Get Along With Programming Language Memory Models?", MSPC 2012,
 * figure 6, which shows which fences are needed. The faults: -DNO_READER_FENCE and
 * -DNO_WRITER_FENCE leave one out. -DRELAXED_BEGIN lets the reader begin with a relaxed load, and
 * -DRELAXED_END lets the writer end with a relaxed store. -DPLAIN has data that are not atomic. */
#include <explore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static atomic_uint sequence;
#ifdef PLAIN
static int data[2];
#define set(i, value) (data[i] = (value))
#define get(i) data[i]
#else
static atomic_int data[2];
#define set(i, value) atomic_store_explicit(&data[i], value, memory_order_relaxed)
#define get(i) atomic_load_explicit(&data[i], memory_order_relaxed)
#endif

#ifdef RELAXED_BEGIN
#define BEGIN memory_order_relaxed
#else
#define BEGIN memory_order_acquire
#endif
#ifdef RELAXED_END
#define END memory_order_relaxed
#else
#define END memory_order_release
#endif

static void writer(void *unused) { /* the only one */
    (void)unused;
    unsigned s = atomic_load_explicit(&sequence, memory_order_relaxed);

    atomic_store_explicit(&sequence, s + 1, memory_order_relaxed);
#ifndef NO_WRITER_FENCE
    atomic_thread_fence(memory_order_release);
#endif
    set(0, 1);
    set(1, 1);
    atomic_store_explicit(&sequence, s + 2, END);
}

/* Reads both, and reports whether they belong together. */
static bool try_read(int *a, int *b) {
    unsigned before = atomic_load_explicit(&sequence, BEGIN);

    *a = get(0);
    *b = get(1);
#ifndef NO_READER_FENCE
    atomic_thread_fence(memory_order_acquire);
#endif
    unsigned after = atomic_load_explicit(&sequence, memory_order_relaxed);
    return before == after && before % 2 == 0;
}

void explore_test(void) {
    int thread = explore_start(writer, NULL), a, b;

    if (try_read(&a, &b)) {
        explore_check(a == b, "a reader sees both data or none");
    }
    explore_join(thread);
}
