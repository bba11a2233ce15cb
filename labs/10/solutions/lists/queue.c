/* Every access is sequentially consistent, which is what C does where no order is named. The
 * program keeps its own indices, and remembers how far the kernel was when it last looked. */
#include "engine.h"

static uint32_t pushed, popped, seen;

unsigned queue_waiting(void) {
    return pushed - *ring.entries_head;
}

bool queue_push(const struct ring_entry *entry) {
    if (pushed - seen >= ring.entries_size) {
        seen = *ring.entries_head;
    }
    if (pushed - seen >= ring.entries_size) {
        return false;
    }
    ring.entries[pushed++ % ring.entries_size] = *entry;
    *ring.entries_tail = pushed;
    return true;
}

bool queue_pop(struct ring_completion *completion) {
    if (*ring.completions_tail == popped) {
        return false;
    }
    *completion = ring.completions[popped++ % ring.completions_size];
    *ring.completions_head = popped;
    return true;
}
