/* A bounded queue under a mutex: sections 7.1 to 7.4. */
#include "sleep.h"

enum { WORK, SPACE }; /* the conditions: there is a task; there is room for one */

static explore_mutex mutex;
static int ring[ROOM];
static unsigned first; /* where the oldest task is */

/* The number of tasks changes under the mutex. Who reads it without takes it for a hint, and locks
 * before it touches the ring. Each access is seq_cst, since eventcount.c has no fence. */
static atomic_uint count;

static unsigned tasks(void) {
    return atomic_load(&count);
}

void queue_put(int task) {
    explore_lock(&mutex);
    while (tasks() == ROOM)
        condition_wait(SPACE, &mutex);
    ring[(first + tasks()) % ROOM] = task;
    atomic_store(&count, tasks() + 1);
    explore_unlock(&mutex);
    condition_signal(WORK); /* after the unlock: the thread that wakes finds the mutex free */
}

/* The caller holds the mutex, and there is a task. */
static int pop(void) {
    int task = ring[first];

    first = (first + 1) % ROOM;
    atomic_store(&count, tasks() - 1);
    return task;
}

int queue_take(void) {
    explore_lock(&mutex);
    /* Between the signal and this thread's lock another one may have taken the task. */
    while (tasks() == 0)
        condition_wait(WORK, &mutex);

    int task = pop();

    explore_unlock(&mutex);
    condition_signal(SPACE);
    return task;
}

bool queue_try(int *task) {
    if (tasks() == 0)
        return false;
    explore_lock(&mutex);

    bool found = tasks() > 0; /* it may have been the last one, and gone */

    if (found)
        *task = pop();
    explore_unlock(&mutex);
    if (found)
        condition_signal(SPACE);
    return found;
}
