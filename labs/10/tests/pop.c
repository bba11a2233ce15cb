/* Completions come out in their order, and an empty queue has none. */
#define COMPLETIONS 2
#include "kernel.h"

void explore_test(void) {
    struct ring_completion c = {.number = 0};

    explore_check(!queue_pop(&c), "there is no completion at first");
    for (unsigned round = 0; round < 3; round++) {
        post(10 + round, 1);
        post(20 + round, -EIO);
        explore_check(queue_pop(&c), "a completion is there");
        explore_check(c.number == 10 + round && c.result == 1, "the oldest one comes first");
        explore_check(completions_head == 2 * round + 1, "its place is free for the kernel");
        explore_check(queue_pop(&c), "another completion is there");
        explore_check(c.number == 20 + round && c.result == -EIO, "the next one comes second");
        explore_check(!queue_pop(&c), "then there is none");
        explore_check(completions_head == 2 * round + 2, "an empty queue stays as it is");
    }
}
