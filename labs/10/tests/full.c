/* More requests than the queues have room for. Three wait for what comes when the fourth is over:
 * they must not hold it up. */
#define ENTRIES 2
#define COMPLETIONS 1
#include "kernel.h"

static int connection, results[REQUESTS];

static void bring(void *arg, int result) {
    note(arg, result);
    kernel_bring(connection, "uvwxyz");
}

void explore_test(void) {
    char buffers[REQUESTS][2];
    int file = kernel_open("abcd");

    connection = kernel_connect("");
    kernel_may(&own.may.late, 1);
    for (int i = 0; i < REQUESTS; i++) {
        bool reads = i == REQUESTS - 1;
        results[i] = UNDER_WAY;
        struct work work = work_of(reads ? RING_READ : RING_RECEIVE, reads ? file : connection,
                                   buffers[i], 2, reads ? bring : note, &results[i]);
        explore_check(engine_begin(work) != 0, "an engine begins REQUESTS requests");
    }
    explore_check(engine_begin(work_of(RING_READ, file, buffers[0], 2, note, &results[0])) == 0,
                  "it does not begin one more");
    engine_run();
    for (int i = 0; i < REQUESTS; i++) {
        explore_check(results[i] == 2, "each request is over, and none was lost");
    }
    kernel_moved(2 * REQUESTS);
}
