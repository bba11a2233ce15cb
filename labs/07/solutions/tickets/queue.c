/* The ring has two sequence numbers that only grow: of the next task to put, and of the next to
 * take. */
#include "sleep.h"

enum { TASK, HOLE };

static explore_mutex mutex;
static int ring[ROOM];
static atomic_uint put, taken; /* changed under the mutex */

static unsigned filled(void) {
    return atomic_load_explicit(&put, memory_order_relaxed) -
           atomic_load_explicit(&taken, memory_order_relaxed);
}

void queue_put(int task) {
    explore_lock(&mutex);
    while (filled() == ROOM)
        condition_wait(HOLE, &mutex);
    ring[atomic_load_explicit(&put, memory_order_relaxed) % ROOM] = task;
    atomic_fetch_add_explicit(&put, 1, memory_order_relaxed);
    condition_signal(TASK);
    explore_unlock(&mutex);
}

static int take(void) {
    int task = ring[atomic_fetch_add_explicit(&taken, 1, memory_order_relaxed) % ROOM];

    condition_signal(HOLE);
    return task;
}

int queue_take(void) {
    explore_lock(&mutex);
    while (filled() == 0)
        condition_wait(TASK, &mutex);

    int task = take();

    explore_unlock(&mutex);
    return task;
}

bool queue_try(int *task) {
    bool found = filled() != 0;

    if (!found)
        return false;
    explore_lock(&mutex);
    found = filled() != 0;
    if (found)
        *task = take();
    explore_unlock(&mutex);
    return found;
}
