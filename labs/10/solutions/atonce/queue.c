/* Atomic additions move this side's indices, and read the indices that the kernel moves. */
#include "engine.h"

static uint32_t of(_Atomic uint32_t *index) {
    return atomic_fetch_add_explicit(index, 0, memory_order_acquire);
}

unsigned queue_waiting(void) {
    return *ring.entries_tail - atomic_load_explicit(ring.entries_head, memory_order_acquire);
}

bool queue_push(const struct ring_entry *entry) {
    uint32_t tail = atomic_load(ring.entries_tail);

    if (tail - atomic_load_explicit(ring.entries_head, memory_order_acquire) < ring.entries_size) {
        ring.entries[tail % ring.entries_size] = *entry;
        atomic_fetch_add_explicit(ring.entries_tail, 1, memory_order_release);
        return true;
    }
    return false;
}

bool queue_pop(struct ring_completion *completion) {
    uint32_t head = of(ring.completions_head);

    if (head != atomic_load_explicit(ring.completions_tail, memory_order_acquire)) {
        *completion = ring.completions[head % ring.completions_size];
        atomic_fetch_add_explicit(ring.completions_head, 1, memory_order_acq_rel);
        return true;
    }
    return false;
}
