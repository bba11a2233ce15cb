/* The interface of fiberlab's scheduler for C code that runs inside tasks.
 *
 * A task is a function that a worker, which is a thread, runs on one of its fibers.
 * It is a Go function that calls C, or a C function that was given to
 * fiberlab_task_schedule. Such C code may yield and wait in mid-call, however deep
 * its frames are. That suspends its fiber and never blocks its thread: the worker
 * runs other fibers. Later the fiber resumes where it was.
 *
 * The Go program that contains the C code imports fiberlab/sched/ctask.
 *
 *     pthread_mutex_lock(&q->mutex);
 *     fiberlab_task_current(&q->waiter);
 *     while (q->count == 0)
 *         fiberlab_task_wait(&q->mutex, -1);
 *     q->count--;
 *     pthread_mutex_unlock(&q->mutex);
 *
 * Common to all functions
 *
 * Each is a call from C to Go, which adds some 0.1 us to what the function does, and
 * more the first time on a thread that C has created. It takes a few KB of the
 * fiber's C stack, besides what the C code uses. Neither longjmp nor a C++ exception
 * may leave a C frame that Go has called.
 *
 * Threads
 *
 * A thread-local variable belongs to the thread, and all fibers of the thread share
 * it: errno, for one, may have another value after a wait or a yield.
 *
 * Under the scheduler's default policy, stealing, a fiber resumes on the thread on
 * which it was suspended. Under a policy that migrates fibers, such as roundrobin, it may
 * resume on another one. Then a thread-local variable has another address, too.
 * The compiler does not expect that: within one function it may compute such an
 * address, errno's or the result of pthread_self() once, and use it after the wait. So a
 * function that waits or yields uses thread-local variables, errno and pthread_self()
 * only by calls of functions that are not inlined.
 */
#ifndef FIBERLAB_TASK_H
#define FIBERLAB_TASK_H

#include <pthread.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Identifies a fiber, for fiberlab_task_notify. It is a number and not an address. It
 * may be copied, need not be released, and is never used for another fiber. So a
 * stale handle does no harm. Zero identifies no fiber.
 *
 * A fiber keeps its number from one task to the next. A notification for a task that
 * has ended may therefore wake another task for no reason. */
typedef struct fiberlab_task_fiber {
    uint64_t id;
} fiberlab_task_fiber;

/* The return values of the functions. */
enum fiberlab_task_error {
    FIBERLAB_TASK_OK = 0,
    FIBERLAB_TASK_TIMED_OUT,    /* the fiber was not notified in time */
    FIBERLAB_TASK_NO_FIBER,     /* the caller does not run on a fiber: call it from inside a task */
    FIBERLAB_TASK_NO_SCHEDULER, /* the caller has no scheduler: call it from inside a task */
    FIBERLAB_TASK_CLOSED,       /* the scheduler is closed and takes no more tasks */
    FIBERLAB_TASK_BACKEND,      /* a fiber of the goroutine backend cannot leave a C frame */
    FIBERLAB_TASK_MUTEX,        /* the mutex was not locked by the caller, or cannot be again */
    FIBERLAB_TASK_NULL,         /* an argument is a null pointer that must not be one */
    FIBERLAB_TASK_NO_HANDLE,    /* no fiber ever had this handle */
    FIBERLAB_TASK_OVERLOADED,   /* too many tasks wait to begin */
};

/* Queues a call of fn(arg) as a task of the caller's scheduler. It does not wait for the
 * task, but for room, if the scheduler limits how many tasks wait to begin. On the goroutine
 * backend it does not wait: without room it returns FIBERLAB_TASK_OVERLOADED. Any worker may
 * run the task, on any thread. arg must not point to Go memory.
 *
 * The caller is inside a task, or on the goroutine that the scheduler is bound to.
 * Returns FIBERLAB_TASK_NULL if fn is null, FIBERLAB_TASK_NO_SCHEDULER,
 * FIBERLAB_TASK_CLOSED, FIBERLAB_TASK_OVERLOADED, or FIBERLAB_TASK_OK; fn is called in
 * the last case only. */
int fiberlab_task_schedule(void (*fn)(void *), void *arg);

/* Lets other fibers of the worker, and a task that waits for it, run first.
 *
 * The caller is on a fiber, and holds no lock that those may want. Returns
 * FIBERLAB_TASK_NO_FIBER, FIBERLAB_TASK_BACKEND, or FIBERLAB_TASK_OK. */
int fiberlab_task_yield(void);

/* Writes the handle of the calling fiber to *fiber. It does not block.
 *
 * Returns FIBERLAB_TASK_NULL if fiber is null, FIBERLAB_TASK_NO_FIBER, or
 * FIBERLAB_TASK_OK; it changes *fiber in the last case only. */
int fiberlab_task_current(fiberlab_task_fiber *fiber);

/* Blocks the calling fiber until it is notified, for at most timeout_ns nanoseconds,
 * or without a limit if that is negative. It always lets other fibers run.
 *
 * mutex may be null. Otherwise the caller holds it, locked once. It is unlocked while
 * the fiber is blocked, and locked again, on the thread on which the function returns.
 * A notifier that holds the mutex loses no notification: under the mutex it first
 * changes what the waiter waits for, and then notifies. A fiber
 * that is not blocked does not remember a notification, and a late notification may
 * end another wait. So a waiter checks its condition before each wait and after it.
 *
 * A mutex belongs to the thread, not to the fiber, and locking it blocks the thread.
 * Hold it for moments only, and never over another wait or a yield: a fiber of the
 * same thread that locks it would never get it. A mutex of the kind
 * PTHREAD_MUTEX_ERRORCHECK finds such mistakes. Robust mutexes are not supported.
 *
 * The caller is on a fiber. Returns FIBERLAB_TASK_OK if the fiber was notified and
 * FIBERLAB_TASK_TIMED_OUT if not. Returns FIBERLAB_TASK_NO_FIBER or
 * FIBERLAB_TASK_BACKEND at once, with the mutex as it was. Returns
 * FIBERLAB_TASK_MUTEX, without holding the mutex, if it could not be unlocked or
 * locked again. */
int fiberlab_task_wait(pthread_mutex_t *mutex, int64_t timeout_ns);

/* Makes a blocked fiber ready, whether it waits in C or in Go. If the fiber is not
 * blocked or has ended, it does nothing; that is no error.
 *
 * May be called from any thread, with or without the waiter's mutex, but not from a
 * signal handler. It blocks no longer than a queue operation takes. Returns
 * FIBERLAB_TASK_NO_HANDLE or FIBERLAB_TASK_OK. */
int fiberlab_task_notify(fiberlab_task_fiber fiber);

/* One line of English for a fiberlab_task_error. Any number may be given; the text
 * is constant. May be called from any thread. It does not call Go. */
const char *fiberlab_task_error_text(int error);

#ifdef __cplusplus
}
#endif

#endif
