/* Two workers take tasks from one end of an array each: the owner the newest, the thief the oldest.
 * Every access is sequentially consistent, and still it is wrong. */
#include <explore.h>
#include <stdatomic.h>

static atomic_int top, bottom = 2; /* tasks 0 and 1 lie in the array */

/* The number of the newest task, or -1. */
static int take(void) {
    if (bottom == top) {
        return -1;
    }
    return --bottom;
}

/* The number of the oldest task, or -1. */
static int steal(void) {
    if (bottom == top) {
        return -1;
    }
    return top++;
}

static void run(int task) {
    if (task >= 0) {
        explore_take(task);
    }
}

static void thief(void *unused) {
    (void)unused;
    run(steal());
}

void explore_test(void) {
    explore_put(0);
    explore_put(1);
    int other = explore_start(thief, 0);
    run(take());
    run(take());
    explore_join(other);
}
