/* The program's ends of the two queues.
 *
 *     program                                  kernel
 *
 *     write the entry, then move tail    -->   read tail, then the entry
 *     read head, then write the entry    <--   read the entry, then move head
 *
 * Each side moves one index. It moves it by a release when it is done with an entry, and reads the
 * other one by an acquire before it touches an entry. */
#include "engine.h"

/* Only the program moves this: no other thread's store could be read. */
static uint32_t own(const _Atomic uint32_t *index) {
    return atomic_load_explicit(index, memory_order_relaxed);
}

unsigned queue_waiting(void) {
    return own(ring.entries_tail) - atomic_load_explicit(ring.entries_head, memory_order_acquire);
}

bool queue_push(const struct ring_entry *entry) {
    uint32_t tail = own(ring.entries_tail);

    /* acquire: the kernel has read the entry that lay there before. */
    if (queue_waiting() == ring.entries_size) {
        return false;
    }
    ring.entries[tail & (ring.entries_size - 1)] = *entry;
    atomic_store_explicit(ring.entries_tail, tail + 1, memory_order_release);
    return true;
}

bool queue_pop(struct ring_completion *completion) {
    uint32_t head = own(ring.completions_head);

    if (head == atomic_load_explicit(ring.completions_tail, memory_order_acquire)) {
        return false;
    }
    *completion = ring.completions[head & (ring.completions_size - 1)];
    /* release: the kernel may write to this place now. */
    atomic_store_explicit(ring.completions_head, head + 1, memory_order_release);
    return true;
}
