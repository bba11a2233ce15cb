/* Signal handlers in front of Go's own. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "core.h"

/* Puts handler before Go's handler for sig, and stores Go's in go. Call it once
 * for each signal. Returns 0, or an errno. */
int fiberlab_watch(int sig, void (*handler)(int, siginfo_t *, void *), struct sigaction *go) {
    if (sigaction(sig, NULL, go) != 0)
        return errno;
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = handler;
    ours.sa_mask = go->sa_mask;
    ours.sa_flags = (go->sa_flags | SA_SIGINFO | SA_ONSTACK) & ~SA_RESETHAND;
    return sigaction(sig, &ours, NULL) == 0 ? 0 : errno;
}

/* Does what the signal would have done without the handler above. */
void fiberlab_pass_on(const struct sigaction *go, int sig, siginfo_t *info, void *context) {
    if (go->sa_flags & SA_SIGINFO)
        go->sa_sigaction(sig, info, context);
    else if (go->sa_handler == SIG_DFL) {
        signal(sig, SIG_DFL);
        raise(sig);
    } else if (go->sa_handler != SIG_IGN)
        go->sa_handler(sig);
}
