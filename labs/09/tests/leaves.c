/* One worker. Two tasks wait for something that a third one does. Then the same again. */
#include "workers.h"

static struct waiter *waits[4];

static long wait(int self, void *argument) {
    int number = *(int *)argument;

    waits[number] = pool_self(self);
    for (int i = 0; number >= 2 && i < 4; i++) {
        pool_unpark(waits[number]); /* for the first wait, and for none */
    }
    while (noted() <= number / 2) {
        pool_park(self);
    }
    explore_take(number);
    return 0;
}

/* Reports whether self has as many blocks of memory as it was to have, and is to have so many more.
 */
UNMARKED static bool has_had(int self, int more) {
    bool has = notes.blocks[self] == notes.had;

    notes.had = notes.blocks[self] + more;
    return has;
}

static void fork_round(int self, int round);

static long wake(int self, void *argument) {
    int round = *(int *)argument / 2;

    explore_check(round == 0 || has_had(self, 0), "a fiber whose task has ended gets the next one");
    note();
    for (int i = 2 * round; i < 2 * round + 2; i++) {
        pool_unpark(waits[i]);
        pool_unpark(waits[i]); /* for none */
    }
    if (round == 0) {
        has_had(self, 3);
        fork_round(self, 1);
    } else {
        pool_stop();
    }
    return 0;
}

/* The newest task is run first. */
static void fork_round(int self, int round) {
    static int numbers[] = {0, 1, 2, 3};

    future_fork(self, wake, &numbers[2 * round]);
    future_fork(self, wait, &numbers[2 * round + 1]);
    future_fork(self, wait, &numbers[2 * round]);
}

void explore_test(void) {
    keep_apart();
    for (int i = 0; i < 4; i++) {
        explore_put(i);
    }
    fork_round(0, 0);
    pool_run(0);
}
