/* Sleeping without losing a wake-up: what the files of this lab promise one another. Given: the
 * tests are built with their own copy of this header. handout.md has a section for each file. */
#ifndef SLEEP_H
#define SLEEP_H

#include <explore.h>
#include <stdatomic.h>
#include <stdbool.h>

enum {
    ROOM = 3,       /* tasks in the queue, at most */
    WORKERS = 3,    /* their numbers are 0, 1 and 2 */
    SPINNERS = 2,   /* workers that may spin at once */
    SPINS = 2,      /* looks of a worker that spins */
    CONDITIONS = 3, /* their numbers are 0, 1 and 2 */
};

/* condition.c: condition variables, for the threads 0 to 6. */

/* The caller holds the mutex. Unlocks it, waits until another thread wakes this one by a call for
 * condition c, and locks the mutex again. It returns for no other reason. */
void condition_wait(int c, explore_mutex *mutex);

/* Wakes one thread that waits for condition c, if there is one. The caller has made true under the
 * mutex what that thread waits for. It may have unlocked the mutex since. */
void condition_signal(int c);

/* As condition_signal, for all threads that wait. */
void condition_broadcast(int c);

/* queue.c: a queue of tasks under a mutex. What is put first is taken first. */

/* Adds a task. Waits while ROOM tasks are in the queue. */
void queue_put(int task);

/* Takes the oldest task. Waits while there is none. */
int queue_take(void);

/* Takes the oldest task into *task, or returns false. It does not wait for a task. If it sees none,
 * it does not touch the mutex. */
bool queue_try(int *task);

/* slot.c: where a worker sleeps, a WaitSlot each. It keeps the wakes that come before the wait. */

/* Waits for one call of slot_wake for this worker that no other wait has taken. It returns for no
 * other reason. What was done before that call happens before the return. Called by the worker. */
void slot_wait(int worker);

/* Ends one call of slot_wait: the one that is under way, or else the next one. Any thread may call
 * it. It does not wait. */
void slot_wake(int worker);

/* eventcount.c: which workers are idle. A worker that finds nothing to do says so, looks once more,
 * and then sleeps:
 *
 *     eventcount_prepare(me);
 *     if (there is something)
 *         eventcount_cancel(me);
 *     else
 *         eventcount_wait(me);
 *
 * A thread that brings something stores it first, and then calls eventcount_notify. Either the look
 * of the worker sees what was stored, or the notification sees that the worker is idle. The tests
 * store and look by seq_cst accesses; what workers.c does is up to you. */

void eventcount_prepare(int me);

/* Instead of eventcount_wait. If the worker was notified since eventcount_prepare, another one is
 * notified instead. */
void eventcount_cancel(int me);

/* Waits until the worker is notified, or returns at once if it was since eventcount_prepare. It
 * returns for no other reason. */
void eventcount_wait(int me);

/* Notifies one idle worker, if there is one: one that spins, or else one that sleeps or is about
 * to. Any thread may call it. It does not wait. */
void eventcount_notify(void);

/* Reports whether the worker may spin. SPINNERS workers may at once, not counting those that were
 * notified. One that may looks for tasks a few times, and then calls eventcount_stop. */
bool eventcount_spin(int me);

/* Ends the spinning. found says that the worker has found something. If it was notified as well,
 * another one is notified instead. A worker that has found nothing looks once more before it
 * sleeps. */
void eventcount_stop(int me, bool found);

/* workers.c: the workers share the queue. None of them sleeps while a task waits that no other
 * one is about to take. */

/* Adds a task, and notifies a worker. */
void worker_submit(int task);

/* Takes a task. Waits while there is none: the worker looks, spins, and then sleeps until it has
 * one. */
int worker_next(int me);

/* If the worker may spin, it looks for a task SPINS times. Reports whether it has taken one. */
bool worker_spin(int me, int *task);

/* The worker looks for a task, sleeps until it is notified if there is none, and looks again.
 * Reports whether it has taken one. */
bool worker_sleep(int me, int *task);

#endif
