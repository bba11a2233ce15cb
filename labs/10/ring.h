/* The ring: two queues in memory that the program and the kernel share. Given. It has the layouts
 * and the numbers of Linux's io_uring. So the same program runs on the simulated kernel of
 * tests/kernel.h and on the real one (real/ring.c). */
#ifndef RING_H
#define RING_H

#include <stdatomic.h>
#include <stdint.h>

enum ring_operation {
    RING_NOP = 0,
    RING_ACCEPT = 13, /* the result is a file: the connection */
    RING_CANCEL = 14, /* buffer: the number of the request that is to end */
    RING_READ = 22,
    RING_WRITE = 23,
    RING_SEND = 26,    /* on a connection: offset is 0 */
    RING_RECEIVE = 27, /* on a connection: offset is 0 */
};

/* A request, as the program writes it. What is not named here is 0. */
struct ring_entry {
    uint8_t operation;
    uint8_t flags;
    uint16_t priority;
    int32_t file;
    uint64_t offset; /* in the file */
    uint64_t buffer; /* its address */
    uint32_t length;
    uint32_t more;
    uint64_t number; /* comes back in the completion */
    uint64_t rest[3];
};

/* What has become of a request, as the kernel writes it. */
struct ring_completion {
    uint64_t number;
    int32_t result; /* as the system call returns it: bytes, or -EINTR and the like */
    uint32_t flags;
};

/* An index only grows, and wraps at 2^32. Its entry lies at index mod size; sizes are powers of
 * two. */
struct ring {
    struct ring_entry *entries;
    uint32_t entries_size;
    _Atomic uint32_t *entries_head; /* the next one that the kernel takes: it moves this */
    _Atomic uint32_t *entries_tail; /* the next one that the program writes: it moves this */

    struct ring_completion *completions;
    uint32_t completions_size;
    _Atomic uint32_t *completions_head; /* the next one that the program takes: it moves this */
    _Atomic uint32_t *completions_tail; /* the next one that the kernel writes: it moves this */
};

/* The one ring of the program, ready for use. One thread of the program uses it. */
extern struct ring ring;

/* Has the kernel take up to `submit` entries, then waits until there are `wait` completions to
 * take. Returns how many entries it took: if that is less than `submit`, it did not wait. It may
 * also return before there are so many completions. Or it takes nothing and returns
 *     -EINTR    a signal came
 *     -EAGAIN   the kernel has no memory at the moment
 *     -EBUSY    the completion queue is full, and the kernel holds further completions back */
int ring_enter(unsigned submit, unsigned wait);

/* Ends the wait of a ring_enter, or of the next one that would wait. Any thread may call it. */
void ring_wake(void);

/* Closes a file. The next one that is opened may get its number. Requests that the kernel has taken
 * go on. */
void ring_close(int file);

#endif
