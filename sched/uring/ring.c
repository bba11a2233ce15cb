/* ring.c - the ring proxy. */
#define _GNU_SOURCE
#include "ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The id of the request that watches event_fd. */
#define EVENT_ID FIBERLAB_OWN_IDS

/* Completions that the kernel has room for, for each request that can be staged: a request may
 * complete many times. */
#define COMPLETIONS_A_REQUEST 4

/* What the ring must have: a limit with each wait, no completion lost when there are many, and
 * sockets polled by the kernel, not by a thread each. It must also have multishot polls. These have
 * no bit: they came with Linux 5.13, as RSRC_TAGS did. */
#define NEEDED                                                                                     \
    (IORING_FEAT_EXT_ARG | IORING_FEAT_NODROP | IORING_FEAT_FAST_POLL | IORING_FEAT_RSRC_TAGS)

/* Sets up the best ring that the kernel makes. Each attempt asks for less. */
static int set_up(struct io_uring *uring, unsigned entries, unsigned without) {
    static const unsigned attempts[] = {
        /* Linux 6.1: completions are worked on when this thread asks for them, all at once */
        IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG |
            IORING_SETUP_SUBMIT_ALL,
        /* 6.0: when it enters the kernel for whatever reason, and not by interrupting it */
        IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG |
            IORING_SETUP_SUBMIT_ALL,
        /* 5.19 */
        IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL,
        0,
    };
    int result = -EINVAL;
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts && result == -EINVAL; i++) {
        if (attempts[i] & without)
            continue;
        struct io_uring_params params = {
            .flags = attempts[i] | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP,
            .cq_entries = entries * COMPLETIONS_A_REQUEST,
        };
        result = io_uring_queue_init_params(entries, uring, &params);
    }
    if (result == 0 && (uring->features & NEEDED) != NEEDED) {
        io_uring_queue_exit(uring);
        return -EOPNOTSUPP;
    }
    return result;
}

/* Doubles ahead if the kernel has had too few buffers. Then hands it buffers, up to ahead. */
static void buffers_return(struct fiberlab_buffers *b);

/* Frees all but the memory that is received into. The ring must have ended. */
static void buffers_free(struct fiberlab_buffers *b);

int fiberlab_ring_open(struct fiberlab_ring **out, unsigned entries, unsigned without) {
    struct fiberlab_ring *ring = calloc(1, sizeof *ring);
    if (!ring)
        return -ENOMEM;
    int result = set_up(&ring->uring, entries, without);
    if (result < 0) {
        free(ring);
        return result;
    }
    ring->staged_size = entries;
    ring->done_size = entries;
    ring->staged = calloc(entries, sizeof *ring->staged);
    ring->done = calloc(entries, sizeof *ring->done);
    ring->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!ring->staged || !ring->done || ring->event_fd < 0) {
        result = ring->event_fd < 0 ? -errno : -ENOMEM;
        fiberlab_ring_close(ring);
        return result;
    }
    /* The number is the thread's: it is of use only where no other thread enters the ring. */
    if (ring->uring.flags & IORING_SETUP_SINGLE_ISSUER)
        ring->registered = io_uring_register_ring_fd(&ring->uring) == 1;
    *out = ring;
    return 0;
}

void fiberlab_ring_close(struct fiberlab_ring *ring) {
    io_uring_queue_exit(&ring->uring);
    buffers_free(&ring->buffers);
    if (ring->event_fd >= 0)
        close(ring->event_fd);
    free(ring->staged);
    free(ring->done);
    free(ring);
}

static void *pointer(uint64_t addr) {
    return (void *)(uintptr_t)addr;
}

/* Fills the entry of a request. */
static void prepare(struct io_uring_sqe *sqe, const struct fiberlab_request *r) {
    void *addr = pointer(r->addr);
    int many = r->how & FIBERLAB_MULTISHOT;
    switch ((enum fiberlab_op)r->op) {
    case FIBERLAB_NOP:
        io_uring_prep_nop(sqe);
        break;
    case FIBERLAB_READ:
        io_uring_prep_read(sqe, r->fd, addr, r->length, r->offset);
        break;
    case FIBERLAB_WRITE:
        io_uring_prep_write(sqe, r->fd, addr, r->length, r->offset);
        break;
    case FIBERLAB_OPEN:
        io_uring_prep_openat(sqe, r->fd, addr, (int)r->flags, (mode_t)r->offset);
        break;
    case FIBERLAB_CLOSE:
        io_uring_prep_close(sqe, r->fd);
        break;
    case FIBERLAB_ACCEPT:
        if (many)
            io_uring_prep_multishot_accept(sqe, r->fd, NULL, NULL, (int)r->flags);
        else
            io_uring_prep_accept(sqe, r->fd, NULL, NULL, (int)r->flags);
        break;
    case FIBERLAB_SEND:
        io_uring_prep_send(sqe, r->fd, addr, r->length, (int)r->flags);
        break;
    case FIBERLAB_RECEIVE:
        if (many)
            io_uring_prep_recv_multishot(sqe, r->fd, addr, r->length, (int)r->flags);
        else
            io_uring_prep_recv(sqe, r->fd, addr, r->length, (int)r->flags);
        break;
    case FIBERLAB_POLL:
        io_uring_prep_poll_add(sqe, r->fd, r->flags);
        break;
    case FIBERLAB_CANCEL:
        io_uring_prep_cancel64(sqe, r->offset, 0);
        break;
    }
    sqe->user_data = r->id;
    if (r->how & FIBERLAB_PROVIDED)
        sqe->flags |= IOSQE_BUFFER_SELECT;
}

/* Moves staged requests to the submission ring, as far as there is room. Returns how many will
 * complete as they are submitted, if all goes well. */
static unsigned move_staged(struct fiberlab_ring *ring) {
    unsigned prompt = 0;
    uint32_t moved = 0;
    struct io_uring_sqe *sqe;
    while (moved < ring->staged_count && (sqe = io_uring_get_sqe(&ring->uring))) {
        prompt += ring->staged[moved].op == FIBERLAB_SEND;
        prepare(sqe, &ring->staged[moved++]);
    }
    ring->staged_count -= moved;
    memmove(ring->staged, ring->staged + moved, ring->staged_count * sizeof *ring->staged);
    return prompt;
}

/* Has event_fd watched. It is never read, so its count is never 0 again. A request that is made
 * anew completes at once, and a wake-up that came while there was none is not lost. */
static void watch_event(struct fiberlab_ring *ring) {
    struct io_uring_sqe *sqe = ring->event_seen ? NULL : io_uring_get_sqe(&ring->uring);
    if (!sqe)
        return;
    io_uring_prep_poll_multishot(sqe, ring->event_fd, POLLIN);
    sqe->user_data = EVENT_ID;
    ring->event_seen = 1;
}

/* ERESTARTSYS to ERESTART_RESTARTBLOCK: how system calls in the kernel say that a signal has ended
 * them. A thread of the kernel that opens a file lets them through. */
#define FIRST_RESTART (-512)
#define LAST_RESTART (-516)

/* Copies completions to done. */
static void collect(struct fiberlab_ring *ring) {
    struct io_uring_cqe *cqe;
    unsigned head, seen = 0;
    io_uring_for_each_cqe(&ring->uring, head, cqe) {
        if (ring->done_count == ring->done_size)
            break;
        seen++;
        if (cqe->flags & IORING_CQE_F_BUFFER)
            ring->buffers.provided--;
        else if (cqe->res == -ENOBUFS)
            ring->buffers.few = 1;
        if (cqe->user_data < FIBERLAB_OWN_IDS) {
            struct fiberlab_done *done = &ring->done[ring->done_count++];
            done->id = cqe->user_data;
            done->result =
                cqe->res <= FIRST_RESTART && cqe->res >= LAST_RESTART ? -EINTR : cqe->res;
            done->flags = cqe->flags;
        } else if (cqe->user_data == EVENT_ID) {
            ring->wakes++;
            if (!(cqe->flags & IORING_CQE_F_MORE))
                ring->event_seen = 0;
        }
    }
    io_uring_cq_advance(&ring->uring, seen);
    ring->collected += ring->done_count;
}

/* Reports whether the kernel has work to do for completions before they can be seen. */
static int has_task_work(const struct io_uring *uring) {
    return (IO_URING_READ_ONCE(*uring->sq.kflags) & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) !=
           0;
}

/* Submits, and waits for that many completions, or until limit nanoseconds have passed; less than 0
 * is no limit. Returns what io_uring_enter(2) does. */
static int submit_and_wait(struct fiberlab_ring *ring, unsigned count, int64_t limit) {
    struct io_uring_cqe *first;
    struct __kernel_timespec until = {.tv_sec = limit / 1000000000, .tv_nsec = limit % 1000000000};
    ring->enters++;
    return io_uring_submit_and_wait_timeout(&ring->uring, &first, count, limit < 0 ? NULL : &until,
                                            NULL);
}

int fiberlab_ring_turn(struct fiberlab_ring *ring, int64_t limit, unsigned more,
                       int64_t more_limit) {
    struct io_uring *uring = &ring->uring;
    int result = 0;
    ring->done_count = 0;
    buffers_return(&ring->buffers);
    watch_event(ring);
    ring->prompt = move_staged(ring);
    unsigned before = io_uring_sq_ready(uring);
    /* It must not wait while requests are staged, nor if nothing watches event_fd. */
    if (limit != 0 && ring->event_seen && ring->staged_count == 0 &&
        io_uring_cq_ready(uring) == 0) {
        int for_more = more > 0 && (limit < 0 || limit > more_limit);
        if (for_more)
            result = submit_and_wait(ring, ring->prompt + more, more_limit);
        if (for_more && limit > 0)
            limit -= more_limit;
        if (!for_more || (result == -ETIME && io_uring_cq_ready(uring) == 0))
            result = submit_and_wait(ring, 1, limit);
    } else if (before > 0 || has_task_work(uring)) {
        ring->enters++;
        result = io_uring_submit_and_get_events(uring);
    }
    ring->refused = io_uring_sq_ready(uring);
    ring->submitted += before - ring->refused;
    collect(ring);
    switch (result) {
    case -EINTR:  /* a signal */
    case -ETIME:  /* nothing has been completed in time */
    case -EAGAIN: /* no memory for the requests now */
    case -EBUSY:  /* completions have to be collected first */
        return 0;
    }
    return result < 0 ? result : 0;
}

int fiberlab_ring_try(struct fiberlab_ring *ring) {
    int result = io_uring_get_events(&ring->uring);
    return result < 0 ? result : 0;
}

void fiberlab_ring_limit(struct fiberlab_ring *ring, int64_t limit) {
    ring->wait_limit.tv_sec = limit / 1000000000;
    ring->wait_limit.tv_nsec = limit % 1000000000;
    memset(&ring->wait_arg, 0, sizeof ring->wait_arg);
    ring->wait_arg.ts = limit < 0 ? 0 : (uint64_t)(uintptr_t)&ring->wait_limit;
}

unsigned fiberlab_ring_features(struct fiberlab_ring *ring) {
    static const unsigned char needed[] = {
        IORING_OP_NOP,      IORING_OP_READ,         IORING_OP_WRITE, IORING_OP_OPENAT,
        IORING_OP_CLOSE,    IORING_OP_ACCEPT,       IORING_OP_SEND,  IORING_OP_RECV,
        IORING_OP_POLL_ADD, IORING_OP_ASYNC_CANCEL,
    };
    struct io_uring_probe *probe = io_uring_get_probe_ring(&ring->uring);
    if (!probe)
        return 0;
    unsigned has = FIBERLAB_HAS_OPS;
    for (size_t i = 0; i < sizeof needed; i++)
        if (!io_uring_opcode_supported(probe, needed[i]))
            has &= ~FIBERLAB_HAS_OPS;
    if (io_uring_opcode_supported(probe, IORING_OP_SOCKET)) /* 5.19, which has brought both */
        has |= FIBERLAB_HAS_MULTISHOT_ACCEPT | FIBERLAB_HAS_BUFFER_RING;
    if (io_uring_opcode_supported(probe, IORING_OP_SEND_ZC)) /* 6.0, and so has this */
        has |= FIBERLAB_HAS_MULTISHOT_RECEIVE;
    io_uring_free_probe(probe);
    return has;
}

/* Buffers that the kernel takes itself. */

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
        buffers_free(&b);
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

static void buffers_return(struct fiberlab_buffers *b) {
    uint32_t missing = b->ahead - b->provided;
    if ((b->few || missing > b->ahead / 2) && b->given_count > missing) { /* there are more */
        b->ahead *= 2;
        b->few = 0;
    }
    if (b->given_count > 0)
        hand_over(b);
}

static void buffers_free(struct fiberlab_buffers *b) {
    if (b->uring)
        munmap(b->uring, uring_size(b));
    free(b->given);
}

void fiberlab_buffers_unmap(void *memory, size_t size) {
    munmap(memory, size);
}
