/* Two threads wait until a gate is open. A third one opens it. */
#include "../sleep.h"
#include <stddef.h>

static explore_mutex mutex;
static bool open;

static void wait_for_gate(void *unused) {
    (void)unused;
    explore_lock(&mutex);
    while (!open)
        condition_wait(2, &mutex);
    explore_unlock(&mutex);
}

static void open_gate(void *unused) {
    (void)unused;
    explore_lock(&mutex);
    open = true;
    explore_unlock(&mutex);
    condition_broadcast(2);
}

void explore_test(void) {
    int threads[] = {explore_start(open_gate, NULL), explore_start(wait_for_gate, NULL)};

    wait_for_gate(NULL);
    for (int i = 0; i < 2; i++)
        explore_join(threads[i]);
}
