/* What the tests share: how a worker sleeps, and memory. Worker 0 is thread 0, and worker 1 is
 * thread 2: keep_apart has started thread 1. */
#include <explore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../forkjoin.h"

#ifndef OWN_SLEEP
void worker_sleep(int self) {
    (void)self;
    explore_park();
}
#endif

void worker_wake(int worker) {
    explore_unpark(2 * worker);
}

/* What a program may not touch, since the test judges by it. A thread begins these variables, and
 * nothing comes after that thread: each access that is marked races with it. So only functions that
 * are not marked use them. */
#define UNMARKED __attribute__((no_sanitize("thread")))

static struct {
    int blocks[WORKERS]; /* of memory: taken minus given back, by each thread */
    int count;           /* of what the test counts: tasks, mostly */
    int had;             /* blocks */
} notes;

static void begin_notes(void *unused) {
    volatile size_t size = sizeof notes; /* by a call of memset, which is marked */

    (void)unused;
    memset(&notes, 0, size);
}

/* Each test begins with this. */
static inline void keep_apart(void) {
    explore_start(begin_notes, NULL);
}

UNMARKED void *memory_new(size_t size) {
    notes.blocks[explore_self() / 2]++;
    return malloc(size);
}

UNMARKED void memory_free(void *memory) {
    notes.blocks[explore_self() / 2]--;
    free(memory);
}

UNMARKED static inline int note(void) {
    return ++notes.count;
}

UNMARKED static inline int noted(void) {
    return notes.count;
}

UNMARKED static inline void forget(void) {
    notes.count = 0;
}

/* At the end of a test without fibers. */
UNMARKED static inline void check_memory(void) {
    explore_check(notes.blocks[0] + notes.blocks[1] == 0, "the memory of all futures is freed");
}
