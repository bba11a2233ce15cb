/* A turn that goes round: waits, notifications and yields in mid-call. */
#define _GNU_SOURCE /* gettid */
#include <stdlib.h>
#include <unistd.h>

#include "taskbody.h"

enum { WORDS = 32 };

struct taskbody_ring *taskbody_ring_new(int64_t players, int64_t laps) {
    struct taskbody_ring *r = calloc(1, sizeof *r + (size_t)players * sizeof r->player[0]);
    if (!r)
        abort();
    pthread_mutexattr_t attributes; /* a thread that unlocks another one's mutex gets an error */
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&r->mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    r->players = players;
    r->laps = laps;
    for (int64_t i = 0; i < players; i++)
        r->player[i].ring = r;
    return r;
}

static void expect(struct taskbody_ring *r, int code) {
    r->broken += code != FIBERLAB_TASK_OK;
}

/* The identity of the thread. The compiler may keep the address of a thread-local variable, or
 * the result of pthread_self, over a wait. After the wait, another thread may run the task. So
 * functions that are not inlined use them. */
static _Thread_local int64_t noted;

__attribute__((noinline)) static int64_t thread_now(void) {
    if (noted == 0)
        noted = gettid();
    return noted;
}

/* Takes one turn, with the mutex held. One lap in three waits with a deadline. */
static void take_turn(struct taskbody_ring *r, int64_t me, int64_t lap) {
    while (r->turn != me) {
        int64_t timeout = lap % 3 == 0 ? 1000000 : -1;
        int code = fiberlab_task_wait(&r->mutex, timeout);
        if (timeout < 0 || code != FIBERLAB_TASK_TIMED_OUT)
            expect(r, code);
    }
    r->passes++;
    r->turn = (me + 1) % r->players;
    fiberlab_task_fiber next = r->player[r->turn].self;
    if (next.id != 0)
        expect(r, fiberlab_task_notify(next));
}

static void play(void *argument) {
    struct taskbody_player *p = argument;
    struct taskbody_ring *r = p->ring;
    int64_t me = p - r->player;
    int64_t thread = thread_now();
    volatile uint64_t words[WORDS];
    for (int i = 0; i < WORDS; i++)
        words[i] = (uint64_t)(me * WORDS + i);

    pthread_mutex_lock(&r->mutex);
    expect(r, fiberlab_task_current(&p->self));
    for (int64_t lap = 0; lap < r->laps; lap++) {
        take_turn(r, me, lap);
        if (lap % 5 == 0) {
            r->broken += pthread_mutex_unlock(&r->mutex) != 0;
            int code = fiberlab_task_yield();
            pthread_mutex_lock(&r->mutex);
            expect(r, code);
        }
        int64_t now = thread_now();
        r->broken += now != gettid();
        r->moves += now != thread;
        thread = now;
        for (int i = 0; i < WORDS; i++)
            r->broken += words[i] != (uint64_t)(me * WORDS + i);
    }
    if (++r->finished == r->players)
        expect(r, fiberlab_task_notify(r->owner));
    pthread_mutex_unlock(&r->mutex);
}

void taskbody_ring_run(struct taskbody_ring *r) {
    pthread_mutex_lock(&r->mutex);
    expect(r, fiberlab_task_current(&r->owner));
    for (int64_t i = 0; i < r->players; i++)
        expect(r, fiberlab_task_schedule(play, &r->player[i]));
    while (r->finished < r->players)
        expect(r, fiberlab_task_wait(&r->mutex, -1));
    pthread_mutex_unlock(&r->mutex);
}
