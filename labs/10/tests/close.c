/* A file is closed while its requests are under way. Its number then leads to another file. */
#include "kernel.h"

static char buffers[3][4];
static int first, results[4] = {UNDER_WAY, UNDER_WAY, UNDER_WAY, UNDER_WAY};

/* Request 0 is over: the file is to be closed, under way with request 1. */
static void close_first(void *arg, int result) {
    note(arg, result);
    engine_close(first);
    if (results[1] == UNDER_WAY) {
        engine_close(first); /* it does nothing */
        explore_check(engine_begin(work_of(RING_READ, first, buffers[2], 2, note, &results[2])) ==
                          0,
                      "no request of a file that is being closed begins");
    }
}

void explore_test(void) {
    int other;

    first = kernel_open("abcd");
    other = kernel_open("ABCD");
    may.late = may.part = may.interrupted = 1;
    engine_begin(work_of(RING_READ, first, buffers[0], 2, close_first, &results[0]));
    engine_begin(work_of(RING_READ, first, buffers[1], 4, note, &results[1]));
    engine_begin(work_of(RING_READ, other, buffers[2], 4, note, &results[3]));
    engine_run();
    explore_check(numbers[first] == NULL, "the file is closed in the end");
    explore_check(results[1] != UNDER_WAY, "a request of a file that was closed is over");
    for (int i = 0; i < results[1]; i++) {
        explore_check(buffers[1][i] == 'a' + i, "the bytes are of the file that was asked");
    }
    explore_check(results[3] == 4, "a request of another file goes on");
    first = kernel_open("xy");
    results[0] = results[1] = UNDER_WAY;
    engine_begin(work_of(RING_READ, first, buffers[1], 2, note, &results[1]));
    engine_run();
    explore_check(results[1] == 2 && buffers[1][0] == 'x', "the number may name another file");
    engine_close(first);
    explore_check(numbers[first] == NULL, "a file without requests is closed at once");
}
