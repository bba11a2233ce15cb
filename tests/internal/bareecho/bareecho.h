/* An echo server that is a loop around io_uring and nothing else: the face for Go. */
#ifndef FIBERLAB_BAREECHO_H
#define FIBERLAB_BAREECHO_H

#include <stdint.h>

/* Reports whether the kernel has what the server needs: Linux 6.1 does. */
int bareecho_supported(void);

/* Accepts connections of the listening socket and sends back what they send, until stop_fd, an
 * eventfd, can be read. A piece that was received in one is one request; its answer is sent before
 * the next one's, if the client waits for it. Blocks. Stores how many connections were accepted,
 * how many requests were answered, and how many system calls were made. Returns 0 or -errno; all
 * connections are closed, the two descriptors are the caller's. */
struct bareecho_figures {
    uint64_t connections, requests, enters;
};
int bareecho_serve(int listener, int stop_fd, struct bareecho_figures *out);

#endif
