/* Entries lie in the submission queue in their order, and a full queue takes no more. */
#define ENTRIES 2
#include "kernel.h"

static bool push(unsigned number) {
    return queue_push(&(struct ring_entry){.operation = RING_NOP, .number = number});
}

void explore_test(void) {
    for (unsigned round = 0; round < 3; round++) {
        unsigned first = 2 * round; /* of the indices, since the queue was empty */
        explore_check(queue_waiting() == 0, "the kernel has taken all entries");
        explore_check(push(10 + round), "an empty queue takes an entry");
        explore_check(entries_tail == first + 1, "the tail is one more behind an entry");
        explore_check(entries[first % 2].number == 10 + round, "the entry lies at the old tail");
        explore_check(push(20 + round), "a queue takes as many entries as it has places");
        explore_check(entries[1].number == 20 + round, "the next entry lies behind it");
        explore_check(!push(30), "a full queue takes no more");
        explore_check(entries_tail == first + 2, "and its tail stays");
        explore_check(queue_waiting() == 2, "two entries wait for the kernel");
        explore_check(ring_enter(1, 0) == 1, "the kernel takes one");
        explore_check(queue_waiting() == 1, "one entry waits for the kernel");
        explore_check(ring_enter(1, 0) == 1, "the kernel takes the other one");
    }
}
