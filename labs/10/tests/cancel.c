/* A cancel comes before the kernel has the request, in time, or too late. The buffer is freed when
 * the request is over. */
#include <stdlib.h>

#include "kernel.h"

static char *buffer;
static ticket target;
static int result = UNDER_WAY, other = UNDER_WAY;

static void over(void *arg, int n) {
    note(arg, n);
    explore_check(n < 1 || buffer[0] == 'a', "the bytes of the result are there");
    free(buffer);
}

static void cancel_it(void *arg, int n) {
    note(arg, n);
    engine_cancel(target);
    engine_cancel(target);
}

void explore_test(void) {
    char more[2];
    bool receives = explore_choose(2) == 1;
    int file = kernel_open("abcd"), connection = kernel_connect("");

    buffer = malloc(2);
    kernel_may(&own.may.late, 1);
    kernel_may(&own.may.interrupted, 1);
    kernel_may(&own.may.part, 1);
    target = engine_begin(work_of(receives ? RING_RECEIVE : RING_READ, receives ? connection : file,
                                  buffer, 2, over, &result));
    if (explore_choose(2) == 1) {
        engine_cancel(target);
    }
    engine_begin(work_of(RING_READ, file, more, 2, cancel_it, &other));
    engine_run();
    explore_check(result == -ECANCELED || (!receives && (result == 1 || result == 2)),
                  "a request that is cancelled ends so, or with what was transferred");
    explore_check(other == 2, "no other request ends");
    kernel_moved(2 + (result > 0 ? (unsigned)result : 0));
    engine_cancel(target); /* it does nothing */
    engine_cancel(0);
    engine_run();
    kernel_goes_on(); /* a request that it still has would write into the buffer */
}
