/* The state of each worker, under a mutex. There is no fence: of two critical sections one comes
 * first, and what was done before it is there in the other one. */
#include "sleep.h"

enum state { BUSY, SPINS_NOW, SLEEPS_NOW, CLAIMED };

static explore_mutex mutex;
static enum state state[WORKERS];

static enum state set(int worker, enum state next) {
    explore_lock(&mutex);

    enum state old = state[worker];

    state[worker] = next;
    explore_unlock(&mutex);
    return old;
}

void eventcount_prepare(int me) {
    set(me, SLEEPS_NOW);
}

void eventcount_wait(int me) {
    slot_wait(me);
    set(me, BUSY);
}

void eventcount_cancel(int me) {
    if (set(me, BUSY) == CLAIMED) {
        slot_wait(me);
        eventcount_notify();
    }
}

/* The first worker that is in that state, or -1. */
static int find(enum state wanted) {
    for (int i = 0; i < WORKERS; i++)
        if (state[i] == wanted)
            return i;
    return -1;
}

void eventcount_notify(void) {
    explore_lock(&mutex);

    int spins = find(SPINS_NOW), sleeps = spins < 0 ? find(SLEEPS_NOW) : -1;

    if (spins >= 0)
        state[spins] = CLAIMED;
    if (sleeps >= 0)
        state[sleeps] = CLAIMED;
    explore_unlock(&mutex);
    if (sleeps >= 0)
        slot_wake(sleeps);
}

bool eventcount_spin(int me) {
    int others = 0;

    explore_lock(&mutex);
    for (int i = 0; i < WORKERS; i++)
        others += state[i] == SPINS_NOW;
    if (others < SPINNERS)
        state[me] = SPINS_NOW;
    explore_unlock(&mutex);
    return others < SPINNERS;
}

void eventcount_stop(int me, bool found) {
    if (set(me, BUSY) == CLAIMED && found)
        eventcount_notify();
}
