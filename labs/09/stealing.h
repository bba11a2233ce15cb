/* The deque of lab 8, as far as this lab needs it. Given: the tests are built with their own copy
 * of this header. The deque.c of lab 8 may be put beside it: it is used instead of the given one.
 */
#ifndef STEALING_H
#define STEALING_H

#include <stdbool.h>

#define WORKERS 2 /* threads that run tasks: their numbers are 0 and 1 */
#ifndef CAPACITY
#define CAPACITY 4 /* tasks in a deque, at most */
#endif

struct task {
    struct task *next; /* for the deque, if it wants it */
    int number;        /* of no use in this lab */
};

/* Only the worker itself calls deque_push and deque_take for its deque. Any worker may call
 * deque_steal. None of them waits for another thread to do something. What a thread did before it
 * pushed a task happens before the return of the call that brings the task out. */

/* Adds task as the newest one of worker's deque. Returns false, and adds nothing, if CAPACITY tasks
 * are in it. */
bool deque_push(int worker, struct task *task);

/* Takes the newest task of worker's deque. Returns NULL if there is none. */
struct task *deque_take(int worker);

/* Takes the oldest task of victim's deque. Returns NULL only if the deque was empty at some moment
 * of the call. */
struct task *deque_steal(int victim);

#endif
