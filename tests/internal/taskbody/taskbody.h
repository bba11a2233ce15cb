/* C that runs inside tasks, by fiberlab_task.h. */
#ifndef FIBERLAB_TESTS_TASKBODY_H
#define FIBERLAB_TESTS_TASKBODY_H

#include <pthread.h>
#include <stdint.h>

#include "../../../sched/ctask/fiberlab_task.h"

/* ring.c: players that pass a turn around, each a task in C. */
struct taskbody_ring {
    pthread_mutex_t mutex;
    int64_t players, laps;
    int64_t turn;     /* whose it is */
    int64_t finished; /* players that have made their laps */
    int64_t passes;   /* turns taken */
    int64_t
        broken;    /* words that had changed, threads mistaken for others, and codes not expected */
    int64_t moves; /* laps that ended on another thread than the one before */
    fiberlab_task_fiber owner;
    struct taskbody_player {
        struct taskbody_ring *ring;
        fiberlab_task_fiber self;
    } player[];
};
struct taskbody_ring *taskbody_ring_new(int64_t players, int64_t laps);
void taskbody_ring_run(struct taskbody_ring *ring); /* schedules the players and waits for them */

/* gate.c: a flag that one waits for. */
struct taskbody_gate {
    pthread_mutex_t mutex;
    int open;
    fiberlab_task_fiber waiter; /* zero until it waits */
};
struct taskbody_gate *taskbody_gate_new(int kind);
int taskbody_gate_wait(struct taskbody_gate *gate, int64_t timeout_ns); /* until open, or a code */
void taskbody_gate_open(void *gate);
int taskbody_gate_open_on_thread(struct taskbody_gate *gate); /* a thread of C's; an errno */
int taskbody_gate_try(struct taskbody_gate *gate); /* waits once, for no time, with the mutex
                                                      held; -1 if it is not held afterwards */

/* misuse.c: the codes that each function answers here and now. */
struct taskbody_codes {
    int schedule, schedule_null, yield, current, current_null, wait, notify_zero, notify_unissued;
};
struct taskbody_codes taskbody_probe(void);
int taskbody_probe_on_thread(struct taskbody_codes *codes); /* an errno */

/* cost.c: calls of C into Go, for benchmarks. */
void taskbody_yields(int64_t n);
void taskbody_currents(int64_t n);

#endif
