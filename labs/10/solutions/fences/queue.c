/* Fences in place of orders at the accesses. */
#include <string.h>

#include "engine.h"

static uint32_t look(const _Atomic uint32_t *index) {
    uint32_t value = atomic_load_explicit(index, memory_order_relaxed);

    atomic_thread_fence(memory_order_acquire);
    return value;
}

static void move(_Atomic uint32_t *index) {
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(index, atomic_load_explicit(index, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

unsigned queue_waiting(void) {
    return look(ring.entries_tail) - look(ring.entries_head);
}

bool queue_push(const struct ring_entry *entry) {
    bool room = queue_waiting() < ring.entries_size;

    if (room) {
        memcpy(&ring.entries[look(ring.entries_tail) & (ring.entries_size - 1)], entry,
               sizeof *entry);
        move(ring.entries_tail);
    }
    return room;
}

bool queue_pop(struct ring_completion *completion) {
    bool some = look(ring.completions_tail) != look(ring.completions_head);

    if (some) {
        memcpy(completion,
               &ring.completions[look(ring.completions_head) & (ring.completions_size - 1)],
               sizeof *completion);
        move(ring.completions_head);
    }
    return some;
}
