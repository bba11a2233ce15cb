/* Two threads wait for one condition, without a loop of their own. Two signals wake them. */
#include "../sleep.h"
#include <stddef.h>

static explore_mutex mutex;
static int waits, signals, returns;

static void waiter(void *unused) {
    (void)unused;
    explore_lock(&mutex);
    waits++;
    condition_wait(2, &mutex);
    returns++;
    explore_check(returns <= signals, "condition_wait returns after a signal, and not before");
    explore_unlock(&mutex);
}

void explore_test(void) {
    int threads[] = {explore_start(waiter, NULL), explore_start(waiter, NULL)};

    while (signals < 2) { /* only this thread writes it */
        explore_lock(&mutex);
        bool wanted = signals < waits;

        signals += wanted;
        explore_unlock(&mutex);
        if (wanted)
            condition_signal(2);
        else
            explore_yield();
    }
    for (int i = 0; i < 2; i++)
        explore_join(threads[i]);
}
