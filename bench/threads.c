/* Two threads that pass a word to and fro by futex. */
#define _GNU_SOURCE
#include "threads.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pingpong.h"

enum turn { TURN_HOME, TURN_AWAY, TURN_END };

struct threads {
    _Atomic uint32_t turn;
    pthread_t away;
};

static void pass(struct threads *t, uint32_t to) {
    atomic_store(&t->turn, to);
    syscall(SYS_futex, &t->turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void wait_while(struct threads *t, uint32_t turn) {
    while (atomic_load(&t->turn) == turn)
        syscall(SYS_futex, &t->turn, FUTEX_WAIT_PRIVATE, turn, NULL, NULL, 0);
}

static void *answer(void *arg) {
    struct threads *t = arg;
    for (;;) {
        wait_while(t, TURN_HOME);
        if (atomic_load(&t->turn) == TURN_END)
            return NULL;
        pass(t, TURN_HOME);
    }
}

/* The thread starts with all signals blocked: Go's handlers expect threads of Go. */
static int start(struct threads *t, const pthread_attr_t *attributes) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&t->away, attributes, answer, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

struct threads *threads_open(int cpu) {
    struct threads *t = aligned_alloc(64, (sizeof *t + 63) / 64 * 64);
    if (!t)
        return NULL;
    atomic_init(&t->turn, TURN_HOME);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (!error) {
        error = pthread_attr_setaffinity_np(&attributes, sizeof one, &one);
        if (!error)
            error = start(t, &attributes);
        pthread_attr_destroy(&attributes);
    }
    if (error) {
        free(t);
        errno = error;
        return NULL;
    }
    return t;
}

uint64_t threads_run(struct threads *t, uint64_t trips) {
    uint64_t start = nanoseconds();
    for (; trips; trips--) {
        pass(t, TURN_AWAY);
        wait_while(t, TURN_AWAY);
    }
    return nanoseconds() - start;
}

void threads_close(struct threads *t) {
    pass(t, TURN_END);
    pthread_join(t->away, NULL);
    free(t);
}
