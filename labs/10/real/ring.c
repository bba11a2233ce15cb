/* The ring of ring.h on Linux: io_uring_setup(2) makes it, mmap(2) brings its memory here. */
#include <errno.h>
#include <linux/io_uring.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "real.h"

_Static_assert(sizeof(struct ring_entry) == sizeof(struct io_uring_sqe) &&
                   offsetof(struct ring_entry, buffer) == offsetof(struct io_uring_sqe, addr) &&
                   offsetof(struct ring_entry, number) == offsetof(struct io_uring_sqe, user_data),
               "an entry is laid out as the kernel's");
_Static_assert(sizeof(struct ring_completion) == sizeof(struct io_uring_cqe) &&
                   offsetof(struct ring_completion, result) == offsetof(struct io_uring_cqe, res),
               "a completion is laid out as the kernel's");
_Static_assert((int)RING_ACCEPT == IORING_OP_ACCEPT && (int)RING_SEND == IORING_OP_SEND &&
                   (int)RING_CANCEL == IORING_OP_ASYNC_CANCEL && (int)RING_READ == IORING_OP_READ &&
                   (int)RING_WRITE == IORING_OP_WRITE && (int)RING_RECEIVE == IORING_OP_RECV,
               "operations have the kernel's numbers");

struct ring ring;
unsigned long calls;
static int ring_file;

static void *map(size_t size, off_t what) {
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring_file, what);

    must(at != MAP_FAILED, "the ring can be mapped");
    return at;
}

int ring_open(void) {
    struct io_uring_params p = {.flags = 0};

    ring_file = (int)syscall(__NR_io_uring_setup, 8, &p);
    if (ring_file < 0) {
        return -errno;
    }
    char *sq = map(p.sq_off.array + p.sq_entries * sizeof(uint32_t), IORING_OFF_SQ_RING);
    char *cq = map(p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
    ring = (struct ring){
        .entries = map(p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES),
        .entries_size = p.sq_entries,
        .entries_head = (_Atomic uint32_t *)(sq + p.sq_off.head),
        .entries_tail = (_Atomic uint32_t *)(sq + p.sq_off.tail),
        .completions = (struct ring_completion *)(cq + p.cq_off.cqes),
        .completions_size = p.cq_entries,
        .completions_head = (_Atomic uint32_t *)(cq + p.cq_off.head),
        .completions_tail = (_Atomic uint32_t *)(cq + p.cq_off.tail),
    };
    /* The kernel looks for the entry of an index in this array: here it lies at the index. */
    for (uint32_t i = 0; i < p.sq_entries; i++) {
        ((uint32_t *)(sq + p.sq_off.array))[i] = i;
    }
    return 0;
}

int ring_enter(unsigned submit, unsigned wait) {
    long n = CALL(
        syscall(__NR_io_uring_enter, ring_file, submit, wait, IORING_ENTER_GETEVENTS, NULL, 0));

    return n < 0 ? -errno : (int)n;
}

void ring_wake(void) {
    must(false, "the real program has one thread, which need not wake itself");
}

void ring_close(int file) {
    (void)CALL(close(file));
}
