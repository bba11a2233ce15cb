/* Fork and join: what the files of this lab promise one another. Given: the tests are built with
 * their own copy of this header.
 *
 * A task is a function that any worker may call, once. A future stands for a task, and later for
 * its result. self is the worker that calls: 0 or 1. A function that waits returns on the worker
 * that has called it. */
#ifndef FORKJOIN_H
#define FORKJOIN_H

#include <stdbool.h>
#include <stddef.h>

#include "stealing.h"

enum status {
    NOT_STARTED, /* nobody runs the task yet */
    IN_PROGRESS, /* one party has claimed it */
    COMPLETED,   /* the result is there */
};

struct future; /* future.c defines it */

/* What a task does. It gets the worker that it runs on. */
typedef long task_function(int self, void *argument);

/* future.c */

/* Makes a task and queues it in the deque of self. If the deque is full, the task is run before the
 * call returns. future_drop must be called once for each future. */
struct future *future_fork(int self, task_function *function, void *argument);

/* Returns what the task has returned. If no worker has begun it, the caller runs it; else it waits.
 * It runs no other task on the caller's stack. It leaves no entry of the task in the caller's
 * deque, if the task was the newest one there. At most one caller at a time, of this and of
 * future_drop; any worker may be it. */
long future_get(int self, struct future *f);

/* Gives a future back: no call uses it after this. If the task has not begun, it is never run. If
 * it runs, the call waits until it has ended. As future_get does, it takes out the task's entry if
 * that is the newest one in the caller's deque. */
void future_drop(int self, struct future *f);

/* Takes the newest entry of the deque of self, else the oldest one of the other worker, and runs
 * its task, unless somebody has claimed it. Returns false if it found no entry. */
bool future_step(int self);

/* pool.c */

/* Somebody who can wait: a thread, or a fiber that a worker runs. It is never freed. */
struct waiter;

/* Who calls: the fiber that the worker runs, or the worker's thread where it runs none. */
struct waiter *pool_self(int self);

/* Waits until pool_unpark was called for pool_self(self) since the last return. It may also return
 * for no reason. A thread sleeps. A fiber leaves its worker to others for that time. */
void pool_park(int self);

/* Ends the wait of a waiter, or its next one if it does not wait now. Any thread may call it. */
void pool_unpark(struct waiter *w);

/* self has put an entry into its deque: wakes the other worker if that sleeps in pool_run. */
void pool_notify(int self);

/* Runs tasks on this thread. Sleeps while there is nothing to run. Returns after pool_stop, when
 * the worker finds no task, and none of its fibers waits. */
void pool_run(int self);

/* Has both workers return from pool_run. Any thread may call it. */
void pool_stop(void);

/* How a thread sleeps, and where memory comes from, is the tests' matter: they define these. */

/* Waits until worker_wake was called for self since the last return. It may also return for no
 * reason. */
void worker_sleep(int self);

/* Ends the sleep of a worker, or its next one if it does not sleep now. */
void worker_wake(int worker);

/* malloc and free, for all that you allocate. memory_new never returns NULL. */
void *memory_new(size_t size);
void memory_free(void *memory);

#endif
