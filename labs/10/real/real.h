/* What the real program is made of: the same engine.c and queue.c, on Linux's io_uring.
 *
 *     ring.c    the ring of ring.h, by system calls
 *     copy.c    copies a file, by an engine and by read and write
 *     echo.c    sends back what comes on connections, by an engine and by poll, read and write
 *     main.c    runs all four, and prints a table */
#ifndef REAL_H
#define REAL_H

#include "../engine.h"

/* How many system calls were made. CALL counts one. */
extern unsigned long calls;
#define CALL(call) (calls++, (call))

/* Makes the ring. Returns 0, or an error such as -ENOSYS where the kernel has no io_uring. */
int ring_open(void);

enum {
    BLOCK = 4096,    /* bytes of a read or a write */
    BLOCKS = 1024,   /* of the file */
    CONNECTIONS = 3, /* and one more request accepts */
    MESSAGE = 64,    /* bytes */
    ROUNDS = 2000,   /* messages on each connection */
};

/* Copies BLOCKS blocks from one file to the other. */
void copy_by_engine(int from, int to);
void copy_by_calls(int from, int to);

/* Accepts CONNECTIONS connections, and sends back what comes until all are closed. */
void echo_by_engine(int listener);
void echo_by_calls(int listener);

/* Ends the program with a sentence unless the claim holds. */
void must(bool holds, const char *claim);

#endif
