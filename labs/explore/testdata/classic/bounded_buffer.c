/* A bounded buffer under a monitor.
 *
 * From C. A. R. Hoare, "Monitors: An Operating System Structuring Concept", Communications of the
 * ACM 17 (1974), section 4, with a condition for producers and one for consumers; P. A. Buhr and
 * others, "Monitor Classification", ACM Computing Surveys 27 (1995), describe what goes wrong
 * without. With -DONE_CONDITION both wait on one: a signal that is for a consumer wakes a producer,
 * and all sleep. With -DIF_FOR_WHILE a thread does not look again after it was woken. */
#include "condition.h"
#include <stddef.h>

#ifdef ONE_CONDITION
#define FULL 0
#define EMPTY 0
#else
#define FULL 0
#define EMPTY 1
#endif

#ifdef IF_FOR_WHILE
#define AS_LONG_AS if
#else
#define AS_LONG_AS while
#endif

static explore_mutex mutex;
static struct condition conditions[2];
static int filled; /* of a buffer with room for one */

static void produce(void *unused) {
    (void)unused;
    explore_lock(&mutex);
    AS_LONG_AS(filled == 1) {
        condition_wait(&conditions[FULL], &mutex);
    }
    explore_check(filled == 0, "a producer finds room");
    filled++;
    condition_signal(&conditions[EMPTY]);
    explore_unlock(&mutex);
}

static void consume(void *unused) {
    (void)unused;
    explore_lock(&mutex);
    AS_LONG_AS(filled == 0) {
        condition_wait(&conditions[EMPTY], &mutex);
    }
    explore_check(filled == 1, "a consumer finds an item");
    filled--;
    condition_signal(&conditions[FULL]);
    explore_unlock(&mutex);
}

void explore_test(void) {
    int threads[] = {
        explore_start(consume, NULL),
        explore_start(consume, NULL),
        explore_start(produce, NULL),
        explore_start(produce, NULL),
    };

    for (int i = 0; i < 4; i++) {
        explore_join(threads[i]);
    }
}
