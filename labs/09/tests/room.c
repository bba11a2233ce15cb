/* One worker: a joined task leaves the deque, and a fork into a full deque runs its own task. */
#include "workers.h"

static long count(int self, void *argument) {
    (void)self;
    (void)argument;
    return note();
}

void explore_test(void) {
    keep_apart();
    struct future *all[2][CAPACITY], *more;

    for (int round = 0; round < 2; round++) {
        forget();
        for (int i = 0; i < CAPACITY; i++) {
            all[round][i] = future_fork(0, count, NULL);
        }
        explore_check(noted() == 0, "tasks that were joined leave room in the deque");
        more = future_fork(0, count, NULL);
        explore_check(noted() == 1, "a fork into a full deque runs the task");
        explore_check(future_get(0, more) == 1, "a get returns what the task returns");
        future_drop(0, more);
        for (int i = CAPACITY - 1; i >= 0; i--) {
            explore_check(future_get(0, all[round][i]) == CAPACITY + 1 - i,
                          "each task has its own result");
        }
    }
    explore_check(!future_step(0), "then nothing is queued");
    for (int i = 0; i < CAPACITY; i++) {
        future_drop(0, all[0][i]);
        future_drop(0, all[1][i]);
    }
    check_memory();
}
