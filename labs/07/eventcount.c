/* Which workers are idle: sections 7.6 and 7.7. Two masks have a bit for each worker. It is set by
 * the worker. The thread that clears it has claimed the worker. */
#include "sleep.h"

void eventcount_prepare(int me) {
    (void)me;
    explore_check(false, "eventcount_prepare is written (section 7.6)");
}

void eventcount_wait(int me) {
    (void)me;
    explore_check(false, "eventcount_wait is written (section 7.6)");
}

void eventcount_cancel(int me) {
    (void)me;
    explore_check(false, "eventcount_cancel is written (section 7.6)");
}

void eventcount_notify(void) {
    explore_check(false, "eventcount_notify is written (section 7.6)");
}

bool eventcount_spin(int me) {
    (void)me;
    explore_check(false, "eventcount_spin is written (section 7.7)");
    return false;
}

void eventcount_stop(int me, bool found) {
    (void)me;
    (void)found;
    explore_check(false, "eventcount_stop is written (section 7.7)");
}
