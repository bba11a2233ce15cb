/* Who waits, and how a worker sleeps. forkjoin.h says what each function has to do; the numbers are
 * sections of handout.md. Here only threads can wait, which is enough up to 9.4. */
#include <explore.h>
#include <stdatomic.h>
#include <stddef.h>

#include "context.h"
#include "forkjoin.h"

/* 9.6: or a fiber. */
struct waiter {
    int worker;
};

static struct waiter threads[WORKERS] = {{.worker = 0}, {.worker = 1}};

struct waiter *pool_self(int self) {
    return &threads[self];
}

void pool_park(int self) {
    worker_sleep(self);
}

void pool_unpark(struct waiter *w) {
    worker_wake(w->worker);
}

void pool_notify(int self) {
    /* 9.5: wake the other worker, if it sleeps. */
    (void)self;
}

void pool_run(int self) {
    /* 9.5: run tasks, and sleep while there is none. 9.6: on fibers. */
    (void)self;
}

void pool_stop(void) {
    /* 9.5: end pool_run. */
}
