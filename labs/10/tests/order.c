/* Completions come in any order, and late. A request that is over begins another one. */
#include "kernel.h"

static char buffers[3][2];
static int file, results[3] = {UNDER_WAY, UNDER_WAY, UNDER_WAY};

static struct work work(int i, void (*over)(void *, int)) {
    struct work work = work_of(RING_READ, file, buffers[i], 2, over, &results[i]);

    work.offset = 2 * (unsigned)i;
    return work;
}

static void next(void *arg, int result) {
    note(arg, result);
    explore_check(engine_begin(work(2, note)) != 0, "over may begin a request");
}

void explore_test(void) {
    file = kernel_open("aabbcc");
    kernel_may(&own.may.late, 2);
    ticket first = engine_begin(work(0, next)), second = engine_begin(work(1, note));
    explore_check(first != 0 && second != 0 && first != second, "each request has a ticket");
    engine_run();
    for (int i = 0; i < 3; i++) {
        explore_check(results[i] == 2, "each request gets its own result");
        explore_check(buffers[i][0] == 'a' + i && buffers[i][1] == 'a' + i, "and its own bytes");
    }
    kernel_moved(6);
}
