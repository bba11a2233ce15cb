/* The kernel is interrupted, or has no memory: then the engine tries again. */
#include "kernel.h"

void explore_test(void) {
    char buffers[2][2];
    int results[] = {UNDER_WAY, UNDER_WAY};
    int file = kernel_open("abcd");

    kernel_may(&own.may.interrupted, 1);
    kernel_may(&own.may.again, 1);
    kernel_may(&own.may.signal, 1);
    kernel_may(&own.may.memory, 1);
    kernel_may(&own.may.fewer, 1);
    engine_begin(work_of(RING_READ, file, buffers[0], 2, note, &results[0]));
    engine_begin(work_of(RING_READ, file, buffers[1], 2, note, &results[1]));
    engine_run();
    for (int i = 0; i < 2; i++) {
        explore_check(results[i] == 2, "what was interrupted is tried again");
        explore_check(memcmp(buffers[i], "ab", 2) == 0, "until the bytes are there");
    }
    kernel_moved(4);
}
