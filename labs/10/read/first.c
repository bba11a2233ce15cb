/* A program has the kernel read into its buffer, and gives up. The kernel is two functions here. */
#include <explore.h>
#include <stdbool.h>

static char buffer;
static bool under_way; /* the kernel has a request */

/* The kernel completes the request: if it must, or if it pleases. */
static void kernel(bool must) {
    if (under_way && (must || explore_choose(2) == 1)) {
        buffer = 'k';
        under_way = false;
    }
}

/* A cancel comes in time, or too late. */
static void cancel(void) {
    if (explore_choose(2) == 0) {
        under_way = false;
    }
}

void explore_test(void) {
    under_way = true;
    kernel(false);
    if (under_way) {
        cancel();
    }
    buffer = 'p'; /* the program uses it for something else */
    kernel(false);
    explore_check(buffer == 'p', "what the program writes stays in its buffer");
}
