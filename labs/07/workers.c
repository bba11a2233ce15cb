/* The steps of a worker, and of a thread that brings a task: section 7.8. */
#include "sleep.h"

void worker_submit(int task) {
    (void)task;
    explore_check(false, "worker_submit is written (section 7.8)");
}

bool worker_spin(int me, int *task) {
    (void)me;
    (void)task;
    explore_check(false, "worker_spin is written (section 7.8)");
    return false;
}

bool worker_sleep(int me, int *task) {
    (void)me;
    (void)task;
    explore_check(false, "worker_sleep is written (section 7.8)");
    return false;
}

int worker_next(int me) {
    (void)me;
    explore_check(false, "worker_next is written (section 7.8)");
    return 0;
}
