/* An engine: what the files of this lab promise. Given: the tests are built with their own copy of
 * this header.
 *
 * One thread runs the engine: it calls engine_run, and what engine_run calls. */
#ifndef ENGINE_H
#define ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "ring.h"

enum {
    REQUESTS = 4, /* under way at most */
    FILES = 64,   /* their numbers are below that */
};

/* queue.c: the program's ends of the two queues. */

/* Puts entry into the submission queue. Returns false, and puts nothing, if the queue is full. */
bool queue_push(const struct ring_entry *entry);

/* How many entries the kernel has not taken yet. */
unsigned queue_waiting(void);

/* Takes the oldest completion. Returns false if there is none. */
bool queue_pop(struct ring_completion *completion);

/* engine.c */

/* What a request is about. RING_READ, RING_WRITE and RING_SEND are over when all bytes are
 * transferred, or at the end of the file, or at an error. RING_RECEIVE and RING_ACCEPT are over
 * when something has come. */
struct work {
    enum ring_operation operation;
    int file;
    void *buffer; /* the engine's until the request is over */
    unsigned length;
    uint64_t offset;
    /* Called once, by engine_run, when the request is over and its place in the table is free. The
     * result is the number of bytes that were transferred; or, if there are none, 0 at the end of
     * the file, or the error: -ECANCELED, -EIO. Of RING_ACCEPT it is the connection, or the error.
     * over may call the functions of engine.c except engine_run. */
    void (*over)(void *arg, int result);
    void *arg;
};

/* Names one request: no other one ever has the same. 0 names none. */
typedef uint64_t ticket;

/* Begins a request. Returns 0, and over is not called, if REQUESTS requests are under way or the
 * file is being closed. */
ticket engine_begin(struct work work);

/* Has the request end soon, if it is not over: with what was transferred until then, with
 * -ECANCELED if that is nothing, or as it would have ended without this. */
void engine_cancel(ticket request);

/* Cancels the requests of a file. Calls ring_close when the last of them is over: at once if there
 * is none. Until then no request of the file begins. */
void engine_close(int file);

/* Runs requests and tasks until the stop rule holds: no request is under way, no task is posted,
 * and no guest may still post one. It sleeps while there is nothing else to do. */
void engine_run(void);

/* A task is posted once, and runs once. */
struct task {
    struct task *next; /* for the engine */
    void (*run)(struct task *task);
};

/* Has engine_run call task->run(task). Any thread may call it, if it is a guest. */
void engine_post(struct task *task);

/* A guest is a thread that may post tasks. The number of guests grows by one, before the thread
 * begins; or shrinks by one: any thread may call this. */
void engine_arrive(void);
void engine_leave(void);

#endif
