/* A ticket names no later request. A cancel is on its way while its request ends, and the next
 * one gets the same place in the table. */
#include "kernel.h"

static char buffer[2];
static int file, results[3] = {UNDER_WAY, UNDER_WAY, UNDER_WAY};
static ticket tickets[3];

/* Request 0 is over, and request 2 begins. */
static void next(void *arg, int result) {
    note(arg, result);
    tickets[2] = engine_begin(work_of(RING_READ, file, buffer, 2, note, &results[2]));
    explore_check(tickets[2] != tickets[0] && tickets[2] != tickets[1],
                  "a ticket names no later request");
    engine_cancel(tickets[0]); /* it does nothing */
}

/* Request 1 is over, and cancels request 0. */
static void cancel_first(void *arg, int result) {
    note(arg, result);
    engine_cancel(tickets[0]);
}

void explore_test(void) {
    file = kernel_open("ab");
    kernel_may(&own.may.late, 1);
    kernel_may(&own.may.fewer, 1);
    tickets[0] = engine_begin(work_of(RING_READ, file, buffer, 2, next, &results[0]));
    tickets[1] = engine_begin(work_of(RING_READ, file, buffer, 2, cancel_first, &results[1]));
    engine_run();
    explore_check(results[0] == 2 || results[0] == -ECANCELED,
                  "a request that is cancelled ends so, or with what was transferred");
    explore_check(results[1] == 2 && results[2] == 2,
                  "a cancel ends the request of its ticket, and no other one");
    kernel_moved(4 + (results[0] > 0 ? 2 : 0));
}
