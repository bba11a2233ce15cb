/* A child that counts the system calls of its parent: the face for Go. */
#ifndef FIBERLAB_BENCH_COUNT_H
#define FIBERLAB_BENCH_COUNT_H

#include <stdint.h>
#include <sys/types.h>

enum { COUNTED = 6 }; /* stretches whose calls are counted: between each two marks */

struct counter {
    pid_t child;
    int socket;
};

/* Starts a child that traces all threads of this process, and of process other, which may be this
 * one. Returns 0, or the number of an error; then there is no counter. */
int counter_start(struct counter *c, pid_t other);

/* Marks a place in the calls. The result has no meaning. */
int counter_mark(void);

/* After COUNTED + 1 marks: sets calls[0] to the fewest system calls of the first, third and fifth
 * stretch, and calls[1] to the fewest of the others. Frees the counter. Returns 0, or the number of
 * an error; then calls has no meaning. */
int counter_end(struct counter *c, uint64_t calls[2]);

#endif
