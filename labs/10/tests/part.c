/* The kernel transfers parts. A read, a write or a send goes on; a receive is over. */
#include "kernel.h"

void explore_test(void) {
    char in[4] = "", come[4] = "";
    int results[] = {UNDER_WAY, UNDER_WAY, UNDER_WAY, UNDER_WAY};
    int file = kernel_open("abcd"), copy = kernel_open("");
    int from = kernel_connect("xyz"), to = kernel_connect("");

    kernel_may(&own.may.part, 2);
    engine_begin(work_of(RING_READ, file, in, 4, note, &results[0]));
    engine_begin(work_of(RING_WRITE, copy, "ABCD", 4, note, &results[1]));
    engine_begin(work_of(RING_SEND, to, "KLMN", 4, note, &results[2]));
    engine_run();
    explore_check(results[0] == 4, "a read goes on until all bytes are there");
    explore_check(memcmp(in, "abcd", 4) == 0, "each part goes behind the one before");
    explore_check(results[1] == 4, "a write goes on until all is written");
    explore_check(results[2] == 4, "a send goes on until all is sent");
    explore_check(memcmp(own.files[copy].bytes, "ABCD", 4) == 0, "each part is written once");
    explore_check(memcmp(own.files[to].bytes, "KLMN", 4) == 0, "each part is sent once");
    kernel_moved(12);
    kernel_may(&own.may.part, 1);
    engine_begin(work_of(RING_RECEIVE, from, come, 3, note, &results[3]));
    engine_run();
    explore_check(results[3] == 3 || results[3] == 1, "a receive is over when something has come");
    /* A part, then the end of the file. */
    kernel_may(&own.may.part, 1);
    results[0] = UNDER_WAY;
    struct work work = work_of(RING_READ, file, in, 4, note, &results[0]);
    work.offset = 3;
    engine_begin(work);
    engine_run();
    explore_check(results[0] == 1, "at the end of the file, the result is what was read before");
    kernel_moved(12 + (unsigned)results[3] + 1);
}
