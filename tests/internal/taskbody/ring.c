/* A turn that goes round: waits, notifications and yields in mid-call. */
#include <stdlib.h>

#include "taskbody.h"

enum { WORDS = 32 };

struct taskbody_ring *taskbody_ring_new(int64_t players, int64_t laps) {
    struct taskbody_ring *r = calloc(1, sizeof *r + (size_t)players * sizeof r->player[0]);
    if (!r)
        abort();
    pthread_mutex_init(&r->mutex, NULL);
    r->players = players;
    r->laps = laps;
    for (int64_t i = 0; i < players; i++)
        r->player[i].ring = r;
    return r;
}

static void expect(struct taskbody_ring *r, int code) {
    r->broken += code != FIBERLAB_TASK_OK;
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
    pthread_t thread = pthread_self();
    volatile uint64_t words[WORDS];
    for (int i = 0; i < WORDS; i++)
        words[i] = (uint64_t)(me * WORDS + i);

    pthread_mutex_lock(&r->mutex);
    expect(r, fiberlab_task_current(&p->self));
    for (int64_t lap = 0; lap < r->laps; lap++) {
        take_turn(r, me, lap);
        if (lap % 5 == 0) {
            pthread_mutex_unlock(&r->mutex);
            int code = fiberlab_task_yield();
            pthread_mutex_lock(&r->mutex);
            expect(r, code);
        }
        r->broken += !pthread_equal(thread, pthread_self());
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
