/* The test of an algorithm that excludes two threads from one another. The file that includes this
 * defines enter and leave. Each thread, numbered 0 or 1, counts once between them. */
#ifndef EXCLUSION_H
#define EXCLUSION_H

#include <explore.h>
#include <stddef.h>

static void enter(int me);
static void leave(int me);

static int counter;

static void worker(void *second) {
    int me = second != NULL;

    enter(me);
    counter++;
    leave(me);
}

void explore_test(void) {
    int other = explore_start(worker, &counter);

    worker(NULL);
    explore_join(other);
    explore_check(counter == 2, "both have counted");
}

#endif
