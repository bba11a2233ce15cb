/* Deadlines come in their order, whatever the order of the waits. A fiber that was notified has
 * none any more. */
#include "../scheduler.h"

enum { FIBERS = 6, NOTIFIED = 2, TWIN = 0, AGAIN = 3 };

static const unsigned ticks[FIBERS] = {3, 1, 3, 4, 2, 3};
static const int order[FIBERS] = {NOTIFIED, 1, 4, TWIN, 5, AGAIN};

static struct worker *w;
static struct fiber *fiber[FIBERS];
static explore_mutex lock;
static int ended;

static void wait(struct fiber *self, void *arg) {
    const int *number = arg;

    fiber[*number] = self;
    explore_lock(&lock);

    bool notified = fiber_wait(self, &lock, ticks[*number]);

    explore_unlock(&lock);
    explore_check(*number == order[ended],
                  "deadlines come in their order, and equal ones in that of the waits");
    explore_check(notified == (*number == NOTIFIED),
                  "fiber_wait returns whether a notification ended it");
    explore_check(worker_now(w) == (notified ? 0 : ticks[*number]),
                  "the clock shows the deadline that has come");
    ended++;
    if (*number == TWIN) {
        fiber_yield(self);
        explore_check(ended == 5, "fibers with the same deadline become Queued together");
    }
    if (*number == AGAIN) {
        explore_lock(&lock);
        explore_check(!fiber_wait(self, &lock, 2), "a deadline ends a wait without a notification");
        explore_unlock(&lock);
        explore_check(worker_now(w) == 6, "a deadline counts from the call of fiber_wait");
    }
}

void explore_test(void) {
    int number[FIBERS];

    w = worker_new();
    for (int i = 0; i < FIBERS; i++) {
        number[i] = i;
        worker_enqueue(w, wait, &number[i]);
    }
    worker_run(w);
    explore_check(ended == 0, "worker_run does not wait for deadlines");
    for (int i = 0; i < FIBERS; i++)
        explore_check(fiber_state(fiber[i]) == WAITING,
                      "a fiber that waits with a deadline is Waiting");
    fiber_notify(fiber[NOTIFIED]);
    explore_check(fiber_state(fiber[NOTIFIED]) == QUEUED, "a fiber that was notified is Queued");
    worker_stop(w);
    explore_check(ended == FIBERS, "worker_stop waits for deadlines");
    worker_free(w);
}
