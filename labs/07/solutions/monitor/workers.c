/* The steps of a worker, and of a thread that brings a task: section 7.8. */
#include "sleep.h"

void worker_submit(int task) {
    queue_put(task);
    eventcount_notify();
}

bool worker_spin(int me, int *task) {
    bool found = false;

    if (!eventcount_spin(me))
        return false;
    for (int i = 0; i < SPINS && !found; i++)
        found = queue_try(task);
    eventcount_stop(me, found);
    return found;
}

bool worker_sleep(int me, int *task) {
    eventcount_prepare(me);
    if (queue_try(task)) {
        eventcount_cancel(me);
        return true;
    }
    eventcount_wait(me);
    return queue_try(task); /* it may be gone: another worker was quicker */
}

int worker_next(int me) {
    int task;
    bool found = queue_try(&task) || worker_spin(me, &task);

    /* A worker that was woken for nothing does not spin again: the others are quick enough. */
    while (!found)
        found = worker_sleep(me, &task);
    return task;
}
