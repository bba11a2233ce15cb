/* Keeping the runtime able to interrupt fibers.
 *
 * To interrupt a goroutine that does not come to rest by itself, the runtime marks
 * its M and sends SIGURG to the M's thread. The handler clears the mark of the M
 * that it finds running there; until then no further signal is sent to this M. If
 * the fiber has left its thread in between, the handler clears another M's mark,
 * and the first could never be interrupted again: a loop without calls on it would
 * hold up the collector. So whoever comes back to a thread after any such signal
 * sends itself one more.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "core.h"

/* Signals that have arrived, on any thread, but those of fiberlab_preempt_again. */
uint32_t fiberlab_preemptions;

static struct sigaction go_action;
static __thread volatile sig_atomic_t again __attribute__((tls_model("initial-exec")));

static void on_preemption(int sig, siginfo_t *info, void *context) {
    if (again)
        again = 0;
    else
        __atomic_fetch_add(&fiberlab_preemptions, 1, __ATOMIC_RELAXED);
    if (go_action.sa_flags & SA_SIGINFO)
        go_action.sa_sigaction(sig, info, context);
    else if (go_action.sa_handler != SIG_DFL && go_action.sa_handler != SIG_IGN)
        go_action.sa_handler(sig);
}

/* Puts the count before Go's own handler. Call it once. Returns 0, or an errno. */
int fiberlab_watch_preemption(void) {
    if (sigaction(SIGURG, NULL, &go_action) != 0)
        return errno;
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = on_preemption;
    ours.sa_mask = go_action.sa_mask;
    ours.sa_flags = go_action.sa_flags | SA_SIGINFO | SA_ONSTACK;
    return sigaction(SIGURG, &ours, NULL) == 0 ? 0 : errno;
}

/* Makes the runtime clear the mark of the M that the calling fiber runs on. */
__attribute__((noinline)) void fiberlab_preempt_again(void) {
    again = 1;
    raise(SIGURG);
}
