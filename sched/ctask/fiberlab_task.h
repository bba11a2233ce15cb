/* The face of fiberlab's scheduler for C code that runs inside tasks.
 *
 * A task is a function that a worker, which is a thread, runs on one of its fibers:
 * a Go function that calls C, or a C function that was given to
 * fiberlab_task_schedule. Such C code may yield and wait in mid-call, however deep
 * its frames are. That blocks its fiber and never its thread: other fibers of the
 * worker go on meanwhile. When its turn comes it goes on where it was, on the same
 * thread.
 *
 * The Go program that the C code is part of imports fiberlab/sched/ctask.
 *
 *     pthread_mutex_lock(&q->mutex);
 *     fiberlab_task_current(&q->waiter);
 *     while (q->count == 0)
 *         fiberlab_task_wait(&q->mutex, -1);
 *     q->count--;
 *     pthread_mutex_unlock(&q->mutex);
 *
 * What all the functions have in common
 *
 * Each is a call from C to Go, which adds some 0.1 us to what the function does, and
 * more the first time on a thread that C has made. A fiber needs a few KB of C stack
 * for it, besides what the C code uses.
 *
 * A thread-local variable belongs to the thread and is shared by all of its fibers:
 * errno, for one, may have another value after a wait. Neither longjmp nor an
 * exception may leave a frame of C that Go has called.
 */
#ifndef FIBERLAB_TASK_H
#define FIBERLAB_TASK_H

#include <pthread.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Names a fiber, for fiberlab_task_notify. It is a number and not an address: it is
 * copied like one, needs not be given back, and is never used again for another
 * fiber. So a handle that is out of date does no harm. Zero names no fiber.
 *
 * A fiber keeps its number from one task to the next. Who notifies a task that has
 * ended may thereby wake another one for nothing. */
typedef struct fiberlab_task_fiber {
    uint64_t id;
} fiberlab_task_fiber;

/* What the functions answer. */
enum fiberlab_task_error {
    FIBERLAB_TASK_OK = 0,
    FIBERLAB_TASK_TIMED_OUT,    /* nobody has notified the fiber in time */
    FIBERLAB_TASK_NO_FIBER,     /* the caller runs on no fiber: call it from inside a task */
    FIBERLAB_TASK_NO_SCHEDULER, /* the caller belongs to no scheduler: call it from inside a task */
    FIBERLAB_TASK_CLOSED,       /* the scheduler takes no more tasks */
    FIBERLAB_TASK_BACKEND,      /* fibers of the goroutine backend cannot leave a C frame */
    FIBERLAB_TASK_MUTEX,        /* the mutex was not locked by the caller, or cannot be again */
    FIBERLAB_TASK_NULL,         /* an argument is a null pointer that must not be one */
    FIBERLAB_TASK_NO_HANDLE,    /* no fiber has ever had this handle */
};

/* Queues a call of fn(arg), as a task of the caller's scheduler, and returns at once.
 * Any worker may run it, on any thread; arg must not point to Go memory.
 *
 * To be called from inside a task, or by the goroutine that the scheduler is bound
 * to. Returns FIBERLAB_TASK_NULL if fn is null, FIBERLAB_TASK_NO_SCHEDULER,
 * FIBERLAB_TASK_CLOSED, or FIBERLAB_TASK_OK. */
int fiberlab_task_schedule(void (*fn)(void *), void *arg);

/* Lets other fibers of the worker, and a task that waits for it, go first.
 *
 * To be called on a fiber, with no lock held that those may want. Returns
 * FIBERLAB_TASK_NO_FIBER, FIBERLAB_TASK_BACKEND, or FIBERLAB_TASK_OK. */
int fiberlab_task_yield(void);

/* Writes the handle of the calling fiber to *fiber. It does not block.
 *
 * Returns FIBERLAB_TASK_NULL if fiber is null, FIBERLAB_TASK_NO_FIBER, or
 * FIBERLAB_TASK_OK; *fiber is changed in the last case only. */
int fiberlab_task_current(fiberlab_task_fiber *fiber);

/* Blocks the calling fiber until it is notified, at the longest for timeout_ns
 * nanoseconds, or without end if that is negative. It always gives others a turn.
 *
 * mutex may be null. Otherwise the caller holds it, locked once; it is unlocked
 * while the fiber is blocked, and locked again when the function returns. A
 * notification by somebody who held it meanwhile cannot be lost: who notifies first
 * changes what the waiter waits for, under the mutex. A fiber that is not blocked
 * remembers no notification, and may be notified by somebody who is late. So a
 * waiter looks at its condition before each wait and after it.
 *
 * A mutex belongs to the thread, not to the fiber, and locking it blocks the thread.
 * Hold it for moments only, and never over another wait or a yield: a fiber of the
 * same thread that wants it would wait for ever. A mutex of the kind
 * PTHREAD_MUTEX_ERRORCHECK finds such mistakes. Robust ones do not serve.
 *
 * To be called on a fiber. Returns FIBERLAB_TASK_OK if somebody has notified it and
 * FIBERLAB_TASK_TIMED_OUT if not. Returns FIBERLAB_TASK_NO_FIBER or
 * FIBERLAB_TASK_BACKEND at once, with the mutex as it was. Returns
 * FIBERLAB_TASK_MUTEX, without holding the mutex, if unlocking it or locking it
 * again has failed. */
int fiberlab_task_wait(pthread_mutex_t *mutex, int64_t timeout_ns);

/* Makes a blocked fiber go on when its turn comes, whether it waits in C or in Go.
 * It does nothing to one that is not blocked or has ended: that is no error.
 *
 * May be called from anywhere, on any thread, with or without the waiter's mutex,
 * and blocks no longer than a queue operation takes. Not for signal handlers.
 * Returns FIBERLAB_TASK_NO_HANDLE or FIBERLAB_TASK_OK. */
int fiberlab_task_notify(fiberlab_task_fiber fiber);

/* One line of English for a fiberlab_task_error. Any number may be given; the text
 * is constant. May be called from anywhere. It does not call Go. */
const char *fiberlab_task_error_text(int error);

#ifdef __cplusplus
}
#endif

#endif
