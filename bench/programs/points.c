/* Two threads that exchange values in two objects, 100 times: for the cost of a schedule point. */
#include <explore.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x, y;

static void exchange(void *unused) {
    (void)unused;
    for (int i = 1; i <= 25; i++) {
        atomic_exchange(&x, i);
        atomic_exchange(&y, i);
    }
}

void explore_test(void) {
    int other = explore_start(exchange, NULL);

    exchange(NULL);
    explore_join(other);
}
