/* What an engine may use of the explorer's <explore.h>, for the real program. */
#ifndef EXPLORE_H
#define EXPLORE_H

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

typedef pthread_mutex_t explore_mutex; /* on Linux, the zero value is unlocked */

#define explore_lock(mutex) ((void)pthread_mutex_lock(mutex))
#define explore_trylock(mutex) (pthread_mutex_trylock(mutex) == 0)
#define explore_unlock(mutex) ((void)pthread_mutex_unlock(mutex))
#define explore_yield() ((void)sched_yield())
#define explore_check(holds, claim) assert((holds) && (claim))

#endif
