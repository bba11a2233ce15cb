/* A worker and its fibers. Given: the tests call these functions, and know nothing of the
 * structures behind them.
 *
 * A task is a function that a worker runs once, on a fiber. The fiber stands for the task until the
 * function returns, and can stop in between. A worker runs one of its fibers at a time, on one
 * thread. */
#ifndef SCHEDULER_H
#define SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>

#include "explore.h"

struct worker;
struct fiber;

enum fiber_state {
    IDLE,    /* has no task */
    YIELDED, /* waits for a notification */
    WAITING, /* waits for a notification or for its deadline */
    QUEUED,  /* can run */
    RUNNING, /* runs */
};

/* A task gets the fiber that it runs on, and what was given to worker_enqueue. */
typedef void task_function(struct fiber *self, void *arg);

/* Makes a worker, whose clock shows 0. */
struct worker *worker_new(void);

/* Queues a task. Any thread may call it, and any task. Tasks begin in the order in which they were
 * queued. A task gets an idle fiber; a fiber is made only if none is idle. */
void worker_enqueue(struct worker *w, task_function *function, void *arg);

/* Runs the worker on the calling thread until nothing can run: no fiber is Queued and no task. It
 * does not sleep; fibers may remain blocked. May be called again, from any thread, but by one at a
 * time, and not after worker_start. */
void worker_run(struct worker *w);

/* Starts a thread that runs the worker, and sleeps while nothing can run. Call it once, or not. */
void worker_start(struct worker *w);

/* Returns when all tasks have returned. A worker without a thread runs on the calling thread for
 * that, and sleeps while nothing can run. No task is queued from outside any more, but
 * notifications may come. Call it once. */
void worker_stop(struct worker *w);

/* Frees a worker that was stopped, and its fibers. No thread uses them any more. */
void worker_free(struct worker *w);

/* What the worker's clock shows. It stands still while the worker runs. When a deadline ends the
 * sleep of a worker, the clock shows that deadline. A task of the worker may call it. */
unsigned worker_now(const struct worker *w);

/* These two are called by a task, with its own fiber.
 *
 * Yield lets all others run that can run now, fibers and tasks, and then returns.
 *
 * Wait blocks until fiber_notify is called for the fiber. The caller holds the lock. It is unlocked
 * during the wait, and held again at the return. A notification by a thread that has had the lock
 * since the call is not lost. If ticks is above 0, the wait also ends when the clock shows as many
 * more. Returns false if that ended it, and true after a notification. */
void fiber_yield(struct fiber *self);
bool fiber_wait(struct fiber *self, explore_mutex *lock, unsigned ticks);

/* Makes a fiber Queued that is Yielded or Waiting. Does nothing to another one. Any thread may call
 * it, and any task. It does not wait for the fiber. */
void fiber_notify(struct fiber *f);

/* Any thread may call it, and any task. */
enum fiber_state fiber_state(struct fiber *f);

#endif
