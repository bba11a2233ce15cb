/* A child that counts the system calls of its parent: the face for Go. */
#ifndef FIBERLAB_BENCH_COUNT_H
#define FIBERLAB_BENCH_COUNT_H

#include <stdint.h>
#include <sys/types.h>

struct counter {
    pid_t child;
    int socket;
};

/* Starts a child that traces all threads of this process, and of process other, which may be this
 * one. Returns 0, or the number of an error; then there is no counter. */
int counter_start(struct counter *c, pid_t other);

/* Marks a place in the calls. The result has no meaning. */
int counter_mark(void);

/* After three marks: sets the system calls between them, and frees the counter. Returns 0, or the
 * number of an error; then calls has no meaning. */
int counter_end(struct counter *c, uint64_t calls[2]);

#endif
