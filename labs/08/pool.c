/* Where tasks wait, which one a worker runs next, and how a worker sleeps. stealing.h says what
 * each function has to do; the numbers are sections of handout.md. */
#include <explore.h>
#include <stdatomic.h>
#include <stddef.h>

#include "stealing.h"

/* 8.5: an injection queue, and an explore_mutex for it. */

void pool_submit(int self, struct task *task) {
    /* 8.5: into the deque of self, or into the injection queue. 8.6: wake a worker. */
    (void)self;
    (void)task;
}

struct task *pool_find(int self) {
    /* 8.5: the worker's own deque, the injection queue, the deques of others. */
    return deque_take(self);
}

struct task *pool_next(int self) {
    /* 8.6: sleep until there is a task. */
    return pool_find(self);
}
