/* The end of a program that is to leave a core dump (GOTRACEBACK=crash).
 *
 * The thread on which such a program ends reports, sends SIGQUIT to the process, and waits
 * until as many threads have reported as there are Ms. The next thread does so too, and sends
 * it on, until each has. But the M of a suspended fiber has no thread. The last SIGQUIT finds
 * no thread that takes it, since each blocks it while it reports. After 10 s the runtime
 * gives up and ends the program.
 *
 * So the last thread does not block it. When that thread gets it a second time all have
 * reported, and the program ends at once, as it would have.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core.h"

static struct sigaction go_action;

/* Counts the threads that are in Go's handler of a signal that may end the program. */
static uint32_t reporting;

static __thread volatile sig_atomic_t last __attribute__((tls_model("initial-exec")));

/* Returns the number of threads of the process, or 0 if unknown. */
static uint32_t threads(void) {
    struct stat task; /* one link for each, and two as any directory */
    return stat("/proc/self/task", &task) == 0 ? (uint32_t)task.st_nlink - 2 : 0;
}

/* Calls Go's handler, which does not return if the program is to end. */
void fiberlab_pass_on_fatal(const struct sigaction *go, int sig, siginfo_t *info, void *context) {
    __atomic_add_fetch(&reporting, 1, __ATOMIC_SEQ_CST);
    fiberlab_pass_on(go, sig, info, context);
    __atomic_sub_fetch(&reporting, 1, __ATOMIC_SEQ_CST);
}

static void end_program(void) {
    static const char text[] = "\nfiberlab: every thread has reported; suspended fibers have none, "
                               "and are among the goroutines above\n";
    ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
    (void)written;
    signal(SIGABRT, SIG_DFL);
    abort();
}

static void on_quit(int sig, siginfo_t *info, void *context) {
    int saved = errno, relayed = info->si_code == SI_USER && info->si_pid == getpid();
    if (last && relayed)
        end_program();
    if (relayed && __atomic_load_n(&reporting, __ATOMIC_SEQ_CST) + 1 == threads()) {
        sigset_t quit;
        sigemptyset(&quit);
        sigaddset(&quit, SIGQUIT);
        last = 1;
        pthread_sigmask(SIG_UNBLOCK, &quit, NULL);
    }
    errno = saved;
    fiberlab_pass_on_fatal(&go_action, sig, info, context);
    last = 0;
}

/* Puts this before Go's own handler. Call it once. Returns 0, or an errno. */
int fiberlab_watch_quit(void) {
    return fiberlab_watch(SIGQUIT, on_quit, &go_action);
}
