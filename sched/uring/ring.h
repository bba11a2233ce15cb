/* ring.h - the ring proxy: one io_uring, and the calls by which an engine drives it.
 *
 * An engine stages requests in an array and makes a turn. One turn hands all staged requests to the
 * kernel, waits if it is asked to, and copies what has been completed into a second array. So one
 * call from Go, and one system call, serve a batch:
 *
 *     Go        staged[0..n)  ──┐                                   ┌──►  done[0..m)
 *     C            turn         ├─► submission ring ─ enter ─ completion ring
 *     kernel                    └─────────────► carries them out ───┘
 *
 * A ring belongs to the thread that has opened it. Another thread may only end its wait, by a write
 * to event_fd. When the thread exits, the kernel cancels its requests.
 *
 * Both arrays, and all that requests point to, must stay in place until the requests are completed.
 * It is memory of C, or memory of Go's heap that Go code keeps alive. The kernel copies addresses
 * of sockets, names and times when a request is submitted.
 */
#ifndef FIBERLAB_URING_RING_H
#define FIBERLAB_URING_RING_H

#include <stddef.h>
#include <stdint.h>
#include <liburing.h>

/* What a request does. */
enum fiberlab_op {
    FIBERLAB_NOP,
    FIBERLAB_READ,    /* length bytes from fd into addr, at offset; -1 is the file's own position */
    FIBERLAB_WRITE,   /* and out of it */
    FIBERLAB_OPEN,    /* the name at addr, from the directory fd, with flags and the mode offset */
    FIBERLAB_CLOSE,   /* fd */
    FIBERLAB_ACCEPT,  /* a connection on fd, with flags of accept4(2) */
    FIBERLAB_SEND,    /* length bytes at addr on fd, with flags of send(2) */
    FIBERLAB_RECEIVE, /* up to length bytes into addr, with flags of recv(2) */
    FIBERLAB_POLL,    /* until fd has one of the events of flags */
    FIBERLAB_CANCEL   /* the request whose id is offset */
};

/* How it does it; bits of fiberlab_request.how. */
enum fiberlab_how {
    FIBERLAB_MULTISHOT = 1, /* completes again and again, until one lacks IORING_CQE_F_MORE */
    FIBERLAB_PROVIDED = 2   /* the kernel takes a buffer from group 0; addr is 0 */
};

/* Ids from here on are the proxy's. */
#define FIBERLAB_OWN_IDS (UINT64_C(1) << 63)

struct fiberlab_request {
    uint64_t id; /* comes back with each completion */
    uint64_t offset;
    uint64_t addr;
    uint32_t length;
    int32_t fd;
    uint32_t flags;
    uint16_t op;  /* enum fiberlab_op */
    uint16_t how; /* bits of enum fiberlab_how */
};

struct fiberlab_done {
    uint64_t id;
    int32_t result; /* what the system call would have returned, or -errno */
    uint32_t flags; /* IORING_CQE_F_*; the buffer's number in the upper half */
};

/* Buffers that the kernel takes itself, when bytes have come for a request with FIBERLAB_PROVIDED.
 * A completion names the one that it has taken; the engine gives it back when it has read it.
 *
 * The kernel takes the buffers of its ring in turn. It has no more of them than it may need for a
 * turn, and the rest is a stack. So a few buffers, which processors have in their caches, are used
 * again and again, and the others take no memory. */
struct fiberlab_buffers {
    struct io_uring_buf_ring *uring; /* the kernel takes from its head */
    char *memory;                    /* count buffers of size bytes */
    uint32_t count, size;
    uint16_t *given; /* the stack: numbers of buffers that neither the kernel nor the engine uses */
    uint32_t given_count;
    uint32_t provided; /* buffers that the kernel has, or has filled and collect has not seen */
    uint32_t ahead;    /* as many it shall have */
    uint32_t few;      /* it has had too few of them */
};

struct fiberlab_ring {
    struct io_uring uring;

    struct fiberlab_request *staged; /* the engine fills staged[staged_count] and counts up */
    uint32_t staged_count, staged_size;
    uint32_t refused; /* entries that the last turn has not submitted: no memory, completions first,
                       * or, before Linux 5.18, an invalid entry before them */

    struct fiberlab_done *done; /* what the last turn has collected */
    uint32_t done_count, done_size;

    struct fiberlab_buffers buffers; /* of group 0, or none: see fiberlab_ring_provide */

    int event_fd;   /* a write to it ends a wait */
    int event_seen; /* the request that watches it is under way */
    int registered; /* the thread enters the ring by number, not by descriptor */

    struct io_uring_getevents_arg
        wait_arg; /* for a wait outside of turn, see fiberlab_ring_limit */
    struct __kernel_timespec wait_limit;

    unsigned prompt; /* requests of the last turn that were to complete as they were submitted */

    uint64_t enters, submitted, collected, wakes; /* since the ring was opened */
};

/* Opens a ring for that many staged requests, a power of two. It sets as many as possible of the
 * flags SINGLE_ISSUER, DEFER_TASKRUN, COOP_TASKRUN, TASKRUN_FLAG and SUBMIT_ALL, and none of those
 * in `without`. uring.flags says which it has. Returns 0, or -errno; then there is nothing to
 * close. */
int fiberlab_ring_open(struct fiberlab_ring **ring, unsigned entries, unsigned without);

/* Ends the ring. The kernel cancels what is under way, but may do so after the call: memory that a
 * request points to must not be freed before its completion has been seen. */
void fiberlab_ring_close(struct fiberlab_ring *ring);

/* Submits what is staged, and collects what has been completed, as much as done has room for. If
 * nothing has, it waits for the first completion, a wake-up, a signal, or until limit nanoseconds
 * have passed; 0 does not wait, less than 0 is no limit. If more is not 0, it first waits for that
 * many completions, for more_limit nanoseconds at most; if it has submitted something, it may
 * return then without any. Completions of sends that it submits do not count. Returns 0, or -errno
 * if the kernel has refused the call itself. Requests for which the kernel has no room now stay
 * staged. */
int fiberlab_ring_turn(struct fiberlab_ring *ring, int64_t limit, unsigned more,
                       int64_t more_limit);

/* Makes group 0: that many buffers, a power of two, at most 32,768, each of that many bytes.
 * Returns 0 or -errno. */
int fiberlab_ring_provide(struct fiberlab_ring *ring, unsigned count, unsigned size);

/* Frees the memory of buffers, which outlives the ring: the program may still read what came. Any
 * thread may call it. */
void fiberlab_buffers_unmap(void *memory, size_t size);

/* Enters the kernel once, without a request: a filter may refuse io_uring_enter(2) alone. Returns 0
 * or -errno. */
int fiberlab_ring_try(struct fiberlab_ring *ring);

/* Fills wait_arg for a wait of that many nanoseconds, less than 0 for no limit. Then
 * io_uring_enter(2) may be called with it, by the thread of the ring, to wait only. */
void fiberlab_ring_limit(struct fiberlab_ring *ring, int64_t limit);

/* What the kernel has that no set-up flag shows, as bits. */
enum fiberlab_feature {
    FIBERLAB_HAS_OPS = 1, /* each operation of enum fiberlab_op */
    FIBERLAB_HAS_MULTISHOT_ACCEPT = 2,
    FIBERLAB_HAS_BUFFER_RING = 4,
    FIBERLAB_HAS_MULTISHOT_RECEIVE = 8
};
unsigned fiberlab_ring_features(struct fiberlab_ring *ring);

#endif
