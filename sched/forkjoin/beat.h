#ifndef FIBERLAB_BEAT_H
#define FIBERLAB_BEAT_H

#include <stdint.h>

/* What the thread of beat.c shares with the strands of all pools. All accesses are atomic. Each
 * part has its own cache lines: strands load beats at each fork. */
struct fiberlab_beat {
    _Alignas(128) uint32_t beats; /* one more each period while a pool is busy */

    _Alignas(128) uint32_t busy; /* how many pools need beats */
    uint32_t asleep;             /* 1 when the thread has found none, and waits for changes */
    uint32_t changes;            /* the futex: one more each time that it has to look anew */

    _Alignas(128) int64_t period; /* in nanoseconds; 0 is none: the thread ends */
};

extern struct fiberlab_beat fiberlab_beat;

/* Sets the period, which is 0 at first. The first period starts the thread. 0 ends it, and waits
 * until it is gone. Only one thread may call it at a time. Returns 0, or the error of
 * pthread_create, with the period 0. */
int fiberlab_beat_set(int64_t period);

#endif
