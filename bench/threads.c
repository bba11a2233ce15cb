/* Two threads that pass a word to and fro by futex, and threads that are made and end. */
#define _GNU_SOURCE
#include "threads.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pingpong.h"

enum turn { TURN_HOME, TURN_AWAY, TURN_END };

struct threads {
    _Alignas(64) _Atomic uint32_t turn;
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

static uint64_t run(uint64_t trips) {
    struct threads t = {.turn = TURN_HOME};
    if (pthread_create(&t.away, NULL, answer, &t))
        return 0;
    uint64_t start = nanoseconds();
    for (; trips; trips--) {
        pass(&t, TURN_AWAY);
        wait_while(&t, TURN_AWAY);
    }
    uint64_t took = nanoseconds() - start;
    pass(&t, TURN_END);
    pthread_join(t.away, NULL);
    return took;
}

static void *nothing(void *arg) {
    return arg;
}

static uint64_t create(uint64_t n) {
    uint64_t start = nanoseconds();
    for (; n; n--) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, nothing, NULL))
            return 0;
        pthread_join(thread, NULL);
    }
    return nanoseconds() - start;
}

/* The threads start with all signals blocked: Go's handlers expect threads of Go. */
static uint64_t without_signals(uint64_t (*loop)(uint64_t), uint64_t n) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    uint64_t took = loop(n);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return took;
}

uint64_t threads_run(uint64_t trips) {
    return without_signals(run, trips);
}

uint64_t threads_create(uint64_t n) {
    return without_signals(create, n);
}
