/* What happens when a fiber runs into its guard page. */
#include "stack.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const struct fiber *watched;
static size_t watched_count;
static int exit_status;
static const size_t guard = 64 * 1024; /* as in stack.c */

/* The handler's own stack, since the fiber's stack is used up. */
static char signal_stack[64 * 1024];

static void say(const char *text) {
    ssize_t written = write(STDERR_FILENO, text, strlen(text));

    (void)written;
}

static void on_overflow(int sig, siginfo_t *info, void *context) {
    const char *address = info->si_addr;

    (void)context;
    for (size_t i = 0; i < watched_count; i++) {
        const struct fiber *f = &watched[i];

        if (address >= f->stack.lo - guard && address < f->stack.lo) {
            say("stack overflow on fiber ");
            say(f->name);
            say("\n");
            _exit(exit_status);
        }
    }
    /* No overflow. The instruction runs again after the return, and now the fault ends the
     * process. */
    signal(sig, SIG_DFL);
}

int overflow_watch(const struct fiber *fibers, size_t count, int status) {
    stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
    struct sigaction action = {.sa_sigaction = on_overflow, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    watched = fibers;
    watched_count = count;
    exit_status = status;
    if (sigaltstack(&stack, NULL) != 0)
        return errno;
    return sigaction(SIGSEGV, &action, NULL) == 0 ? 0 : errno;
}
