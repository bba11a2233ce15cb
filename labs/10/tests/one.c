/* One request after the other: each is over once, with its result. */
#include "kernel.h"

/* Runs a request alone, and returns its result. */
static int alone(struct work work) {
    int result = UNDER_WAY;

    work.over = note;
    work.arg = &result;
    explore_check(engine_begin(work) != 0, "an engine without requests begins one");
    explore_check(result == UNDER_WAY, "engine_run says that a request is over");
    engine_run();
    explore_check(result != UNDER_WAY, "engine_run returns when the request is over");
    return result;
}

/* The table is full but for the place of the request that is over. */
static void next(void *arg, int result) {
    struct work *work = arg;

    count_over();
    explore_check(result == 2, "the result of each read is the number of its bytes");
    if (work != NULL) {
        explore_check(engine_begin(*work) != 0, "a place is FREE before over is called");
    }
}

void explore_test(void) {
    char buffer[8] = "";
    int file = kernel_open("abcdef"), connection = kernel_connect("xyz");
    struct work work = work_of(RING_READ, file, buffer, 4, NULL, NULL);

    engine_run(); /* returns, since nothing is under way */
    explore_check(alone(work) == 4, "the result of a read is the number of its bytes");
    explore_check(memcmp(buffer, "abcd", 4) == 0, "the bytes are in the buffer");
    work.offset = 4;
    explore_check(alone(work) == 2, "a read at the end of the file brings what is there");
    explore_check(memcmp(buffer, "efcd", 4) == 0, "an offset says where a read begins");
    work.offset = 6;
    explore_check(alone(work) == 0, "behind the end of the file there is nothing");
    work = work_of(RING_WRITE, file, "AB", 2, NULL, NULL);
    work.offset = 1;
    explore_check(alone(work) == 2, "the result of a write is the number of its bytes");
    explore_check(memcmp(own.files[0].bytes, "aABdef", 6) == 0, "the bytes are in the file");
    work = work_of(RING_RECEIVE, connection, buffer, 8, NULL, NULL);
    explore_check(alone(work) == 3, "a receive is over when something has come");
    work = work_of(RING_SEND, connection, "uv", 2, NULL, NULL);
    explore_check(alone(work) == 2, "the result of a send is the number of its bytes");
    work.file = 3;
    explore_check(alone(work) == -EBADF, "the result of a request that fails is the error");
    kernel_moved(4 + 2 + 2 + 3 + 2);

    struct work last = work_of(RING_READ, file, buffer, 2, next, NULL), first = last;
    first.arg = &last;
    explore_check(engine_begin(first) != 0, "an engine without requests begins one");
    for (int i = 1; i < REQUESTS; i++) {
        explore_check(engine_begin(last) != 0, "an engine begins REQUESTS requests");
    }
    engine_run();
}
