/* One function moves any index, and one reads any: as strong as either of the queues needs. */
#include "engine.h"

static uint32_t read_index(_Atomic uint32_t *index) {
    return atomic_load_explicit(index, memory_order_acquire);
}

static void advance(_Atomic uint32_t *index, uint32_t from) {
    (void)atomic_exchange_explicit(index, from + 1, memory_order_acq_rel);
}

unsigned queue_waiting(void) {
    return read_index(ring.entries_tail) - read_index(ring.entries_head);
}

bool queue_push(const struct ring_entry *entry) {
    uint32_t at = read_index(ring.entries_tail);

    if (at == read_index(ring.entries_head) + ring.entries_size) {
        return false;
    }
    struct ring_entry *place = &ring.entries[at & (ring.entries_size - 1)];
    place->operation = entry->operation;
    place->flags = 0;
    place->priority = 0;
    place->file = entry->file;
    place->offset = entry->offset;
    place->buffer = entry->buffer;
    place->length = entry->length;
    place->more = 0;
    place->number = entry->number;
    for (int i = 0; i < 3; i++) {
        place->rest[i] = 0;
    }
    advance(ring.entries_tail, at);
    return true;
}

bool queue_pop(struct ring_completion *completion) {
    uint32_t at = read_index(ring.completions_head);

    if (at == read_index(ring.completions_tail)) {
        return false;
    }
    const struct ring_completion *place = &ring.completions[at & (ring.completions_size - 1)];
    completion->number = place->number;
    completion->result = place->result;
    completion->flags = place->flags;
    advance(ring.completions_head, at);
    return true;
}
