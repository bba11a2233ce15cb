/* An engine: a table of requests, and a thread that hands them to the kernel. engine.h says what
 * each function has to do; the numbers are sections of handout.md. */
#include <errno.h>
#include <explore.h>
#include <stddef.h>

#include "engine.h"

enum state { FREE, STAGED, RUNNING };

struct request {
    enum state state;
    struct work work;
};

static struct request requests[REQUESTS];

ticket engine_begin(struct work work) {
    /* 10.4: a free place of the table becomes STAGED. */
    (void)work;
    (void)requests;
    return 0;
}

void engine_cancel(ticket request) {
    /* 10.6: note it, and tell the kernel in engine_run. */
    (void)request;
}

void engine_close(int file) {
    /* 10.6: not before the last request of the file is over. */
    (void)file;
}

void engine_run(void) {
    /* 10.4: while a request is under way: push what is STAGED, enter the ring, handle what has
     * come. 10.5: all that may go wrong. 10.7: tasks, guests, and when to sleep. */
}

void engine_post(struct task *task) {
    /* 10.7: into the mailbox; wake the engine if it sleeps. */
    (void)task;
}

void engine_arrive(void) {
    /* 10.7 */
}

void engine_leave(void) {
    /* 10.7: the last one may have to wake the engine. */
}
