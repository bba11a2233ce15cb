/* Work stealing: what the files of this lab promise one another. Given: the tests are built with
 * their own copy of this header.
 *
 * A worker is a thread that runs tasks. Each has a deque of its own, and all share one injection
 * queue for tasks from outside. */
#ifndef STEALING_H
#define STEALING_H

#include <stdbool.h>

enum {
    WORKERS = 3,  /* their numbers are 0, 1 and 2 */
    OUTSIDE = -1, /* a thread that is no worker */
    CAPACITY = 2, /* tasks in a deque, at most */
};

struct task {
    struct task *next; /* for the queue that the task is in, if the queue wants it */
    int number;        /* what it is about: written before it is pushed */
};

/* deque.c. Only the worker itself calls deque_push and deque_take for its deque. Any thread may
 * call deque_steal. None of them waits for another thread. What a thread did before it pushed a
 * task happens before the return of the call that brings the task out. Each task comes out once. */

/* Adds task as the newest one of worker's deque. Returns false, and adds nothing, if CAPACITY tasks
 * are in it. */
bool deque_push(int worker, struct task *task);

/* Takes the newest task of worker's deque. Returns NULL if there is none. */
struct task *deque_take(int worker);

/* Takes the oldest task of victim's deque. Returns NULL only if the deque was empty at some moment
 * of the call. */
struct task *deque_steal(int victim);

/* pool.c. self is the worker that calls, or OUTSIDE. */

/* Queues task, which may be taken before the call returns, and wakes a worker that sleeps. A worker
 * puts it into its own deque, unless that is full. */
void pool_submit(int self, struct task *task);

/* Takes the newest task of the worker's own deque; else the oldest from outside; else the oldest
 * one of another worker. Returns NULL if it found none. */
struct task *pool_find(int self);

/* As pool_find, and waits for a task. No worker sleeps in here while a task is queued that no
 * worker, awake, is about to look for. */
struct task *pool_next(int self);

/* How a thread sleeps is the tests' matter: they define these two, by explore_park and
 * explore_unpark. */

/* Waits until worker_wake was called for self since the last return. It may also return for no
 * reason. */
void worker_sleep(int self);

/* Ends the sleep of a worker, or its next one if it does not sleep now. */
void worker_wake(int worker);

#endif
