/* The face of the explorer for the programs that it explores: plain C11 files that use
 * <stdatomic.h>, malloc and free, and what is declared here. docs/explore.md says how they are
 * built and run.
 *
 * The program defines explore_test. The explorer calls it once a schedule, as thread 0; before each
 * call all global variables have their first values again, and all memory from malloc is gone.
 * Threads are fibers of one processor thread: _Thread_local variables are shared between them, and
 * a call that blocks (read, nanosleep, pthread_mutex_lock) blocks all of them. */
#ifndef EXPLORE_H
#define EXPLORE_H

#include <stdbool.h>

/* The test of one schedule, defined by the program. A schedule ends when every thread has
 * returned. */
void explore_test(void);

/* Starts a thread that calls body(arg) and returns its number: 1, 2, ... in the order of the calls.
 * What the caller did before happens before it. At most 7 threads a schedule, thread 0 included. */
int explore_start(void (*body)(void *), void *arg);

/* Waits until a thread has returned. What it did happens before the return of this call. */
void explore_join(int thread);

/* The number of the calling thread. */
int explore_self(void);

/* Fails the schedule unless the claim holds. */
void explore_check(bool holds, const char *claim);

/* Notes the outcome of this schedule: a value below 1024. The explorer reports the set of all
 * outcomes. The last call of a schedule counts, by whichever thread. The search may leave out
 * schedules in which independent calls come in another order. So let one thread call it, or have
 * each value contain what the others have noted. */
void explore_outcome(unsigned value);

/* Returns one of 0, 1, ..., n - 1, in some schedule each of them: for what a kernel, a network or a
 * disk may do. n is at most 26. No thread switches there. */
unsigned explore_choose(unsigned n);

/* An item is a value that stands for something that threads hand over, such as a task. Each is
 * taken once for each time that it is put. Call explore_put before the item is handed over, and
 * explore_take behind: a schedule fails that takes one twice, or ends before one was taken. Both
 * only take notes: they order nothing, and no thread switches there. */
void explore_put(unsigned long value);
void explore_take(unsigned long value);

/* A mutex. The zero value is unlocked. It is not recursive: a thread that locks it twice waits for
 * itself. */
typedef struct {
    unsigned reserved;
} explore_mutex;

void explore_lock(explore_mutex *mutex);
bool explore_trylock(explore_mutex *mutex);
/* Unlocks a mutex that the calling thread holds. Otherwise the schedule fails. */
void explore_unlock(explore_mutex *mutex);

/* Waits for the token of the calling thread and takes it. Each thread has at most one token.
 * The wait may also end without a token: once a thread and schedule. */
void explore_park(void);
/* As explore_park, and a deadline may end the wait at any moment while there is no token. Returns
 * false if it did. */
bool explore_park_until(void);
/* Gives a thread its token, if it has none. What the caller did before happens before the return
 * of the wait that takes the token. */
void explore_unpark(int thread);

/* Says that the calling thread spins. It runs again once another thread has changed something, or
 * when no other thread can run. Then it sees the values that were the newest at this call, of the
 * last four objects that it read. The fifth call while nothing has changed, and no other thread can
 * run, is a livelock. */
void explore_yield(void);

#endif
