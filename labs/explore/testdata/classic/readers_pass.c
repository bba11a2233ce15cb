/* Readers and writers: readers that pass a waiting writer.
 *
 * In the first solution of Courtois, Heymans and Parnas (see readers_writers.c) a reader enters
 * while another one reads, so two readers by turns can starve a writer. The remedy is a turnstile:
 * A. B. Downey, "The Little Book of Semaphores" (2005), section 4.2.3. A waiting writer holds it,
 * and no other reader begins to enter. No schedule that can be tried starves a writer without end.
 * So the test tries the bound: only readers that were on their way in pass the writer, each once.
 * With -DNO_TURNSTILE one passes it twice. */
#include <explore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { READERS = 2 };

static explore_mutex turnstile, counting;
static int readers;       /* under counting */
static atomic_bool taken; /* the room */
static atomic_bool waits; /* the writer does */
static int reads[READERS] = {2, 1};
static int passed[READERS]; /* how often a reader has passed the writer */

static void take_room(void) {
    while (atomic_exchange(&taken, true)) {
        explore_yield();
    }
}

static void leave_room(void) {
    atomic_store(&taken, false);
}

static void reader(void *arg) {
    int me = (int)((int *)arg - reads);

    for (int i = reads[me]; i > 0; i--) {
#ifndef NO_TURNSTILE
        explore_lock(&turnstile);
        explore_unlock(&turnstile);
#endif
        explore_lock(&counting);
        if (++readers == 1) {
            take_room();
        }
        explore_unlock(&counting);
        if (atomic_load(&waits)) {
            explore_check(++passed[me] == 1, "no reader passes a waiting writer twice");
        }
        explore_lock(&counting);
        if (--readers == 0) {
            leave_room();
        }
        explore_unlock(&counting);
    }
}

void explore_test(void) {
    int threads[READERS];

    for (int i = 0; i < READERS; i++) {
        threads[i] = explore_start(reader, &reads[i]);
    }
    explore_lock(&turnstile);
    atomic_store(&waits, true);
    take_room();
    atomic_store(&waits, false);
    explore_unlock(&turnstile);
    leave_room();
    for (int i = 0; i < READERS; i++) {
        explore_join(threads[i]);
    }
}
