#include "bareecho.h"

#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ENTRIES = 4096, BUFFERS = 4096, BUFFER_SIZE = 512, GROUP = 0 };

/* The id of a request holds its kind, its connection and its buffer. */
enum kind { ACCEPT, STOP, RECEIVE, SEND };

static uint64_t id(enum kind kind, int fd, unsigned buffer) {
    return (uint64_t)kind << 56 | (uint64_t)buffer << 32 | (uint32_t)fd;
}

struct server {
    struct io_uring ring;
    struct io_uring_buf_ring *given; /* to the kernel */
    char *memory;
    int listener;
    unsigned char *open; /* by descriptor: is it a connection */
    int most;            /* descriptors */
    struct bareecho_figures figures;
};

static char *buffer_at(struct server *s, unsigned number) {
    return s->memory + (size_t)number * BUFFER_SIZE;
}

static void give(struct server *s, unsigned number) {
    io_uring_buf_ring_add(s->given, buffer_at(s, number), BUFFER_SIZE, (unsigned short)number,
                          io_uring_buf_ring_mask(BUFFERS), 0);
    io_uring_buf_ring_advance(s->given, 1);
}

/* The next free entry. A full submission queue is submitted first. */
static struct io_uring_sqe *entry(struct server *s) {
    struct io_uring_sqe *sqe;
    while (!(sqe = io_uring_get_sqe(&s->ring))) {
        io_uring_submit(&s->ring);
        s->figures.enters++;
    }
    return sqe;
}

static void accept_all(struct server *s) {
    struct io_uring_sqe *sqe = entry(s);
    io_uring_prep_multishot_accept(sqe, s->listener, NULL, NULL, SOCK_CLOEXEC);
    io_uring_sqe_set_data64(sqe, id(ACCEPT, s->listener, 0));
}

static void receive(struct server *s, int fd) {
    struct io_uring_sqe *sqe = entry(s);
    io_uring_prep_recv(sqe, fd, NULL, 0, 0);
    sqe->ioprio |= IORING_RECV_MULTISHOT;
    sqe->flags |= IOSQE_BUFFER_SELECT;
    sqe->buf_group = GROUP;
    io_uring_sqe_set_data64(sqe, id(RECEIVE, fd, 0));
}

static void answer(struct server *s, int fd, unsigned buffer, int length) {
    struct io_uring_sqe *sqe = entry(s);
    io_uring_prep_send(sqe, fd, buffer_at(s, buffer), (size_t)length, MSG_WAITALL | MSG_NOSIGNAL);
    io_uring_sqe_set_data64(sqe, id(SEND, fd, buffer));
}

static void received(struct server *s, int fd, const struct io_uring_cqe *cqe) {
    if (cqe->res > 0)
        answer(s, fd, cqe->flags >> IORING_CQE_BUFFER_SHIFT, cqe->res);
    if (cqe->flags & IORING_CQE_F_MORE)
        return;
    if (cqe->res > 0 || cqe->res == -ENOBUFS) {
        receive(s, fd);
    } else {
        s->open[fd] = 0;
        close(fd);
    }
}

static void accepted(struct server *s, const struct io_uring_cqe *cqe) {
    if (cqe->res >= 0 && cqe->res < s->most) {
        s->open[cqe->res] = 1;
        s->figures.connections++;
        receive(s, cqe->res);
    } else if (cqe->res >= 0) {
        close(cqe->res);
    }
    if (!(cqe->flags & IORING_CQE_F_MORE))
        accept_all(s);
}

/* Serves until a completion says that it shall stop. */
static int loop(struct server *s) {
    for (;;) {
        int result = io_uring_submit_and_wait(&s->ring, 1);
        s->figures.enters++;
        if (result < 0 && result != -EINTR)
            return result;
        unsigned head, seen = 0;
        struct io_uring_cqe *cqe;
        int stop = 0;
        io_uring_for_each_cqe(&s->ring, head, cqe) {
            uint64_t data = io_uring_cqe_get_data64(cqe);
            int fd = (int)(uint32_t)data;
            switch ((enum kind)(data >> 56)) {
            case ACCEPT:
                accepted(s, cqe);
                break;
            case RECEIVE:
                received(s, fd, cqe);
                break;
            case SEND:
                s->figures.requests += cqe->res > 0;
                give(s, data >> 32 & 0xffff);
                break;
            case STOP:
                stop = 1;
                break;
            }
            seen++;
        }
        io_uring_cq_advance(&s->ring, seen);
        if (stop)
            return 0;
    }
}

static int set_up(struct server *s) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return -errno;
    s->most = limit.rlim_cur < 65536 ? (int)limit.rlim_cur : 65536;
    s->open = calloc((size_t)s->most, 1);
    s->given = mmap(NULL, BUFFERS * sizeof(struct io_uring_buf), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    s->memory = malloc((size_t)BUFFERS * BUFFER_SIZE);
    if (!s->open || s->given == MAP_FAILED || !s->memory)
        return -ENOMEM;
    struct io_uring_buf_reg group = {
        .ring_addr = (uint64_t)(uintptr_t)s->given,
        .ring_entries = BUFFERS,
        .bgid = GROUP,
    };
    io_uring_buf_ring_init(s->given);
    int result = io_uring_register_buf_ring(&s->ring, &group, 0);
    if (result < 0)
        return result;
    for (unsigned i = 0; i < BUFFERS; i++)
        give(s, i);
    return 0;
}

static int open_ring(struct io_uring *ring) {
    struct io_uring_params params = {
        .flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE,
        .cq_entries = 4 * ENTRIES,
    };
    return io_uring_queue_init_params(ENTRIES, ring, &params);
}

int bareecho_supported(void) {
    struct io_uring ring;
    if (open_ring(&ring) < 0)
        return 0;
    io_uring_queue_exit(&ring);
    return 1;
}

int bareecho_serve(int listener, int stop_fd, struct bareecho_figures *out) {
    struct server s = {.listener = listener, .given = MAP_FAILED};
    int result = open_ring(&s.ring);
    if (result < 0)
        return result;
    if ((result = set_up(&s)) == 0) {
        struct io_uring_sqe *sqe = entry(&s);
        io_uring_prep_poll_add(sqe, stop_fd, POLLIN);
        io_uring_sqe_set_data64(sqe, id(STOP, stop_fd, 0));
        accept_all(&s);
        result = loop(&s);
    }
    io_uring_queue_exit(&s.ring); /* before the memory that the kernel may write to */
    for (int fd = 0; s.open && fd < s.most; fd++) {
        if (s.open[fd])
            close(fd);
    }
    if (s.given != MAP_FAILED)
        munmap(s.given, BUFFERS * sizeof(struct io_uring_buf));
    free(s.memory);
    free(s.open);
    *out = s.figures;
    return result;
}
