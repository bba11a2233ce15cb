/* Readers and writers: any number of readers, or one writer.
 *
 * From P. J. Courtois, F. Heymans and D. L. Parnas, "Concurrent Control with 'Readers' and
 * 'Writers'", Communications of the ACM 14 (1971), the first problem. The first reader locks
 * writers out, the last one lets them in. With -DNO_MUTEX readers count themselves without the
 * lock: two of them take themselves for the first one, or none for the last one. */
#include <explore.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef NO_MUTEX
static explore_mutex counting;
#endif
static atomic_int room =
    1; /* a semaphore: it may be released by another thread than the one that took it */
static atomic_int readers;
static int data[2];

static void take_room(void) {
    int one = 1;

    while (!atomic_compare_exchange_strong(&room, &one, 0)) {
        one = 1;
        explore_yield();
    }
}

static void count(int by, int edge) {
#ifdef NO_MUTEX
    int now = atomic_load(&readers) + by;
    atomic_store(&readers, now);
#else
    explore_lock(&counting);
    int now = atomic_load_explicit(&readers, memory_order_relaxed) + by;
    atomic_store_explicit(&readers, now, memory_order_relaxed);
#endif
    if (now == edge && by > 0) {
        take_room();
    } else if (now == edge) {
        atomic_store(&room, 1);
    }
#ifndef NO_MUTEX
    explore_unlock(&counting);
#endif
}

static void reader(void *unused) {
    (void)unused;
    count(1, 1);
    explore_check(data[0] == data[1], "a reader sees no half of a change");
    count(-1, 0);
}

static void writer(void *unused) {
    (void)unused;
    take_room();
    data[0]++;
    data[1]++;
    atomic_store(&room, 1);
}

void explore_test(void) {
    int a = explore_start(reader, NULL), b = explore_start(writer, NULL);

    reader(NULL);
    explore_join(a);
    explore_join(b);
}
