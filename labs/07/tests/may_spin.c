/* A worker wants to spin while two others do, and again when they have stopped. A task is there. */
#include "../sleep.h"

void explore_test(void) {
    int task;

    queue_put(1);
    explore_check(eventcount_spin(1) && eventcount_spin(2), "two workers may spin");
    explore_check(!worker_spin(0, &task), "a worker does not spin while two others do");
    eventcount_stop(1, false);
    eventcount_stop(2, false);
    explore_check(worker_spin(0, &task) && task == 1, "a worker that spins finds the task");
}
