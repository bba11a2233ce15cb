/* The kernel completes requests on a thread of its own: the program sees all of a completion, and
 * has read it before its place is used again. */
#define COMPLETIONS 1
#include "kernel.h"

static void kernel(void *unused) {
    (void)unused;
    for (uint32_t i = 0; i < 2; i++) {
        while (atomic_load_explicit(&completions_head, memory_order_acquire) != i) {
            explore_yield();
        }
        completions[0] = (struct ring_completion){.number = i + 1, .result = 0};
        atomic_store_explicit(&completions_tail, i + 1, memory_order_release);
    }
}

void explore_test(void) {
    int other = explore_start(kernel, NULL);
    struct ring_completion c;

    for (unsigned i = 1; i <= 2; i++) {
        while (!queue_pop(&c)) {
            explore_yield();
        }
        explore_check(c.number == i, "each completion comes out once");
    }
    explore_join(other);
}
