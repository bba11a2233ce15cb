/* buffers.c - buffers that the kernel takes itself. */
#define _GNU_SOURCE
#include "buffers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static size_t uring_size(const struct fiberlab_buffers *b) {
    return b->count * sizeof(struct io_uring_buf);
}

static size_t memory_size(const struct fiberlab_buffers *b) {
    return (size_t)b->count * b->size;
}

static void *map(size_t size) {
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* How many buffers the kernel has at first. */
enum { FIRST_AHEAD = 256 };

/* Hands buffers from the stack to the kernel, until it has as many as it shall have. */
static void hand_over(struct fiberlab_buffers *b) {
    int mask = io_uring_buf_ring_mask(b->count), n = 0;
    for (; b->given_count > 0 && b->provided < b->ahead; n++, b->provided++) {
        uint16_t number = b->given[--b->given_count];
        io_uring_buf_ring_add(b->uring, b->memory + (size_t)number * b->size, b->size, number, mask,
                              n);
    }
    if (n > 0)
        io_uring_buf_ring_advance(b->uring, n);
}

int fiberlab_ring_provide(struct fiberlab_ring *ring, unsigned count, unsigned size) {
    struct fiberlab_buffers b = {.count = count, .size = size};
    b.uring = map(uring_size(&b));
    b.memory = map(memory_size(&b)); /* pages come when bytes do */
    b.given = calloc(count, sizeof *b.given);
    int result = -ENOMEM;
    if (b.uring && b.memory && b.given) {
        struct io_uring_buf_reg group = {
            .ring_addr = (uint64_t)(uintptr_t)b.uring,
            .ring_entries = count,
        };
        io_uring_buf_ring_init(b.uring);
        result = io_uring_register_buf_ring(&ring->uring, &group, 0);
    }
    if (result < 0) {
        if (b.memory)
            munmap(b.memory, memory_size(&b));
        fiberlab_buffers_free(&b);
        return result;
    }
    while (b.given_count < count) {
        b.given[b.given_count] = (uint16_t)(count - 1 - b.given_count);
        b.given_count++;
    }
    b.ahead = count < FIRST_AHEAD ? count : FIRST_AHEAD;
    hand_over(&b);
    ring->buffers = b;
    return 0;
}

void fiberlab_buffers_return(struct fiberlab_buffers *b) {
    uint32_t missing = b->ahead - b->provided;
    if ((b->few || missing > b->ahead / 2) && b->given_count > missing) { /* there are more */
        b->ahead *= 2;
        b->few = 0;
    }
    if (b->given_count > 0)
        hand_over(b);
}

void fiberlab_buffers_free(struct fiberlab_buffers *b) {
    if (b->uring)
        munmap(b->uring, uring_size(b));
    free(b->given);
}

void fiberlab_buffers_unmap(void *memory, size_t size) {
    munmap(memory, size);
}
