/* A WaitSlot for each worker: section 7.5. */
#include "sleep.h"

void slot_wait(int worker) {
    (void)worker;
    explore_check(false, "slot_wait is written (section 7.5)");
}

void slot_wake(int worker) {
    (void)worker;
    explore_check(false, "slot_wake is written (section 7.5)");
}
