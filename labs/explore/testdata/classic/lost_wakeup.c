/* A future whose get waits for a condition, as a fork-join pool has it.
 *
 * From the second of the five documents, on the fork-join pool ("locking"), which names two traps;
 * docs/documents.md lists the documents. With -DSIGNAL_BEFORE_WAIT the state is looked at before
 * the lock is taken: the signal comes in between, and is lost. With -DSTATUS_OUTSIDE_LOCK the
 * worker completes the future without the lock, with the same end. With -DIF_FOR_WHILE get takes
 * the first wake-up for the completion. */
#include "condition.h"
#include <stdatomic.h>
#include <stddef.h>

enum { NOT_STARTED, IN_PROGRESS, COMPLETED };

static explore_mutex mutex;
static struct condition done;
static atomic_int status;
static int result;

static void worker(void *unused) {
    (void)unused;
    explore_lock(&mutex);
    atomic_store_explicit(&status, IN_PROGRESS, memory_order_relaxed);
#ifdef IF_FOR_WHILE
    condition_signal(&done); /* of another future that shares the condition */
#endif
    explore_unlock(&mutex);
    result = 42;
#ifdef STATUS_OUTSIDE_LOCK
    atomic_store(&status, COMPLETED);
    condition_signal(&done);
#else
    explore_lock(&mutex);
    atomic_store(&status, COMPLETED);
    condition_signal(&done);
    explore_unlock(&mutex);
#endif
}

static int get(void) {
#ifdef SIGNAL_BEFORE_WAIT
    if (atomic_load(&status) != COMPLETED) {
        explore_lock(&mutex);
        condition_wait(&done, &mutex);
        explore_unlock(&mutex);
    }
#else
    explore_lock(&mutex);
#ifdef IF_FOR_WHILE
    if (atomic_load(&status) != COMPLETED) {
#else
    while (atomic_load(&status) != COMPLETED) {
#endif
        condition_wait(&done, &mutex);
    }
    explore_unlock(&mutex);
#endif
    explore_check(atomic_load(&status) == COMPLETED, "get returns when the task is done");
    return result;
}

void explore_test(void) {
    int thread = explore_start(worker, NULL);

    explore_check(get() == 42, "get returns the result");
    explore_join(thread);
}
