/* The kernel takes entries on a thread of its own: it sees all of an entry, and has done with it
 * before its place is used again. */
#define ENTRIES 1
#include "kernel.h"

static void kernel(void *unused) {
    (void)unused;
    for (uint32_t i = 0; i < 2; i++) {
        while (atomic_load_explicit(&entries_tail, memory_order_acquire) == i) {
            explore_yield();
        }
        explore_check(entries[0].number == i + 1, "the kernel sees what was written to the entry");
        atomic_store_explicit(&entries_head, i + 1, memory_order_release);
    }
}

void explore_test(void) {
    int other = explore_start(kernel, NULL);

    for (unsigned i = 1; i <= 2; i++) {
        while (!queue_push(&(struct ring_entry){.operation = RING_NOP, .number = i})) {
            explore_yield();
        }
    }
    explore_join(other);
}
