/* Tickets: each wait gets the next number, and a signal serves the next one. A thread waits until
 * its number is served. All under a lock of the condition. */
#include "sleep.h"

enum { MOST = 8 }; /* threads that wait */

static struct {
    explore_mutex lock;
    unsigned next, served; /* the next ticket; those below are served */
    int thread[MOST];      /* of each ticket that is out, by its remainder */
} conditions[CONDITIONS];

void condition_wait(int c, explore_mutex *mutex) {
    explore_lock(&conditions[c].lock);

    unsigned ticket = conditions[c].next++;

    conditions[c].thread[ticket % MOST] = explore_self();
    explore_unlock(&conditions[c].lock);
    explore_unlock(mutex);
    for (bool served = false; !served;) {
        explore_park();
        explore_lock(&conditions[c].lock);
        served = ticket < conditions[c].served;
        explore_unlock(&conditions[c].lock);
    }
    explore_lock(mutex);
}

static void serve(int c, bool all) {
    explore_lock(&conditions[c].lock);

    unsigned last = conditions[c].served + 1;

    if (all || last > conditions[c].next)
        last = conditions[c].next;
    for (; conditions[c].served < last; conditions[c].served++)
        explore_unpark(conditions[c].thread[conditions[c].served % MOST]);
    explore_unlock(&conditions[c].lock);
}

void condition_signal(int c) {
    serve(c, false);
}

void condition_broadcast(int c) {
    serve(c, true);
}
