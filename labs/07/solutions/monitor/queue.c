/* A bounded queue under one mutex, with one condition for all that changes. */
#include "sleep.h"

enum { CHANGED = 0 };

static explore_mutex mutex;
static int tasks[ROOM]; /* the oldest first */
static int count;

void queue_put(int task) {
    explore_lock(&mutex);
    while (count == ROOM)
        condition_wait(CHANGED, &mutex);
    tasks[count++] = task;
    condition_broadcast(CHANGED);
    explore_unlock(&mutex);
}

static bool take(int *task) {
    if (count == 0)
        return false;
    *task = tasks[0];
    for (int i = 1; i < count; i++)
        tasks[i - 1] = tasks[i];
    count--;
    condition_broadcast(CHANGED);
    return true;
}

int queue_take(void) {
    int task;

    explore_lock(&mutex);
    while (!take(&task))
        condition_wait(CHANGED, &mutex);
    explore_unlock(&mutex);
    return task;
}

bool queue_try(int *task) {
    explore_lock(&mutex);

    bool found = take(task);

    explore_unlock(&mutex);
    return found;
}
