/* What a signal finds on a thread, and a body without an identity to find. */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "trapbody.h"
#include "../../../fiber/fiberlab.h"

enum { WORDS = 64 };

void trap_lap_body(void *argument) {
    struct trap_laps *l = argument;
    for (int64_t i = 0; i < l->laps; i++) {
        volatile uint64_t words[WORDS];
        for (int w = 0; w < WORDS; w++)
            words[w] = (uint64_t)(uintptr_t)l + (uint64_t)(i * w);
        l->broken += fiberlab_switch(l->peer) != FIBERLAB_OK;
        for (int w = 0; w < WORDS; w++)
            l->broken += words[w] != (uint64_t)(uintptr_t)l + (uint64_t)(i * w);
        l->done++;
    }
}

uint64_t trap_blocked(void) {
    sigset_t set;
    uint64_t bits = 0;
    if (pthread_sigmask(SIG_BLOCK, NULL, &set) != 0)
        return ~(uint64_t)0;
    for (int sig = 1; sig < 64; sig++)
        bits |= (uint64_t)(sigismember(&set, sig) == 1) << sig;
    return bits;
}

int trap_block(int how, int sig) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, sig);
    return pthread_sigmask(how, &set, NULL);
}

int trap_alternate_stack(void) {
    stack_t stack;
    memset(&stack, 0, sizeof stack);
    return sigaltstack(NULL, &stack) == 0 && !(stack.ss_flags & SS_DISABLE) && stack.ss_size > 0;
}

static __thread ucontext_t kept[2];

int trap_keep_registers(void) {
    return getcontext(&kept[0]) | getcontext(&kept[1]);
}
