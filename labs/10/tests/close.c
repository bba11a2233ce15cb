/* A file is closed while its requests are under way. Its number then leads to another file. */
#include "kernel.h"

static char buffers[4][4];
static int closed, other, results[4];

/* The request on the file that closes is over: now bytes come for the other connection. */
static void bring(void *arg, int result) {
    note(arg, result);
    kernel_bring(other, "xy");
}

/* Closes the file when a request of another file is over. */
static void close_it(void *arg, int result) {
    note(arg, result);
    engine_close(closed);
    if (results[0] == UNDER_WAY) {
        engine_close(closed); /* it does nothing */
        explore_check(engine_begin(work_of(RING_READ, closed, buffers[3], 2, note, &results[3])) ==
                          0,
                      "engine_begin begins no request of a file that is being closed");
    } else {
        kernel_bring(other, "xy");
    }
}

static void begin(enum ring_operation operation, int file, void (*over)(void *, int), int i) {
    explore_check(engine_begin(work_of(operation, file, buffers[i], 4, over, &results[i])) != 0,
                  "engine_begin begins a request");
}

void explore_test(void) {
    bool receives = explore_choose(2) == 1, last = explore_choose(2) == 1;

    for (int i = 0; i < 4; i++) {
        results[i] = UNDER_WAY;
    }
    closed = receives ? kernel_connect("") : kernel_open("abcd");
    int file = kernel_open("ABCD");
    other = kernel_connect("");
    kernel_may(&own.may.late, 1);
    kernel_may(&own.may.part, 1);
    if (!last) {
        begin(receives ? RING_RECEIVE : RING_READ, closed, receives ? bring : note, 0);
    }
    begin(RING_READ, file, close_it, 1);
    begin(RING_RECEIVE, other, note, 2);
    if (last) {
        begin(receives ? RING_RECEIVE : RING_READ, closed, receives ? bring : note, 0);
    }
    if (!receives) { /* the other connection need not wait */
        kernel_bring(other, "xy");
    }
    engine_run();
    explore_check(kernel_closed(closed), "engine_close closes the file in the end");
    explore_check(receives ? results[0] == -ECANCELED : results[0] > 0 || results[0] == -ECANCELED,
                  "engine_close cancels the requests of the file");
    for (int i = 0; i < results[0]; i++) {
        explore_check(buffers[0][i] == 'a' + i, "the bytes are of the file that was asked");
    }
    explore_check(results[1] == 4 && results[2] > 0, "engine_close cancels no other request");
    int moved = results[1] + results[2] + (results[0] > 0 ? results[0] : 0);

    results[0] = UNDER_WAY;
    explore_check(kernel_open("xy") == closed, "the number is free");
    begin(RING_READ, closed, note, 0);
    engine_run();
    explore_check(results[0] == 2 && buffers[0][0] == 'x', "it may name another file");
    kernel_moved((unsigned)moved + 2);
    engine_close(closed);
    explore_check(kernel_closed(closed), "engine_close closes a file without requests at once");
}
