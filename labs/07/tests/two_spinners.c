/* Three workers want to spin. */
#include "../sleep.h"
#include <stddef.h>

static int number[WORKERS] = {0, 1, 2};
static bool spins[WORKERS];

static void worker(void *arg) {
    int me = *(int *)arg;

    spins[me] = eventcount_spin(me);
}

void explore_test(void) {
    int threads[] = {explore_start(worker, &number[0]), explore_start(worker, &number[1])};

    worker(&number[2]);
    for (int i = 0; i < 2; i++)
        explore_join(threads[i]);
    explore_check(spins[0] + spins[1] + spins[2] == SPINNERS, "of three workers two may spin");
    for (int i = 0; i < WORKERS; i++)
        if (spins[i])
            eventcount_stop(i, false);
    explore_check(eventcount_spin(0) && eventcount_spin(1),
                  "two workers may spin when the others have stopped");
}
