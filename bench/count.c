/* Counts system calls by ptrace: a traced thread stops at the entry and at the exit of each. */
#define _GNU_SOURCE
#include "count.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* No process has this number: a call that asks for its group is a mark. */
enum { MARK = 0x7ffffff1, MARKS = COUNTED + 1 };

int counter_mark(void) {
    return (int)syscall(SYS_getpgid, MARK);
}

/* Reports whether the runtime of Go makes a call at any time, to keep watch and to interrupt. */
static int by_the_runtime(uint64_t nr) {
    return nr == SYS_nanosleep || nr == SYS_getpid || nr == SYS_tgkill || nr == SYS_rt_sigreturn;
}

/* Traces each thread of a process. Returns 0, or the number of an error. */
static int seize(pid_t pid) {
    char path[32];
    int all = 0, news, failed = ESRCH;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    do { /* a thread may start meanwhile; one that is traced cannot be seized again */
        DIR *threads = opendir(path);
        if (!threads)
            return errno;
        news = 0;
        for (struct dirent *entry; (entry = readdir(threads));) {
            pid_t thread = atoi(entry->d_name);
            if (!thread)
                continue;
            if (ptrace(PTRACE_SEIZE, thread, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE)) {
                failed = errno;
                continue;
            }
            /* From then on it can be told to stop at calls. */
            ptrace(PTRACE_INTERRUPT, thread, 0, 0);
            news++;
        }
        closedir(threads);
        all += news;
    } while (news);
    return all ? 0 : failed;
}

/* Lets the traced threads go on from call to call until the last mark. calls[i] are those after
 * mark i. */
static void trace(uint64_t calls[MARKS]) {
    int status, marks = 0;
    pid_t thread;
    while (marks < MARKS && (thread = waitpid(-1, &status, __WALL)) > 0) {
        struct __ptrace_syscall_info info = {0};
        int sig = WSTOPSIG(status);
        if (!WIFSTOPPED(status))
            continue;
        if (sig == (SIGTRAP | 0x80)) {
            if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) < 0)
                _exit(ENOSYS); /* before Linux 5.3 */
            if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
                if (info.entry.nr == SYS_getpgid && info.entry.args[0] == MARK)
                    marks++;
                else if (!by_the_runtime(info.entry.nr))
                    calls[marks]++;
            }
        }
        /* A stop for a call, a new thread or an interrupt is no signal. */
        ptrace(PTRACE_SYSCALL, thread, 0, sig == (SIGTRAP | 0x80) || status >> 16 ? 0 : sig);
    }
}

/* The end of this process ends its tracing. */
static _Noreturn void child(pid_t parent, pid_t other, int socket) {
    uint64_t calls[MARKS] = {0};
    char allowed;
    int failed = read(socket, &allowed, 1) == 1 ? seize(parent) : ESRCH;
    if (!failed && other != parent)
        failed = seize(other);
    if (write(socket, &failed, sizeof failed) == sizeof failed && !failed) {
        trace(calls);
        for (int i = 3; i < MARKS; i++) /* calls[0] were before the first mark */
            if (calls[i] < calls[2 - i % 2])
                calls[2 - i % 2] = calls[i];
        if (write(socket, calls + 1, 2 * sizeof *calls) < 0)
            _exit(1);
    }
    _exit(0);
}

int counter_start(struct counter *c, pid_t other) {
    int ends[2], failed;
    pid_t parent = getpid();
    sigset_t all, before;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return errno;
    sigfillset(&all); /* the child has no use for the handlers of Go */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    c->child = fork();
    if (!c->child) {
        close(ends[0]);
        child(parent, other, ends[1]);
    }
    failed = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(ends[1]);
    c->socket = ends[0];
    if (c->child > 0) {
        prctl(PR_SET_PTRACER, c->child, 0, 0, 0); /* Yama asks for it; without Yama it fails */
        if (send(c->socket, "", 1, MSG_NOSIGNAL) != 1 ||
            read(c->socket, &failed, sizeof failed) != sizeof failed)
            failed = ECHILD;
    }
    if (failed) {
        close(c->socket);
        if (c->child > 0)
            waitpid(c->child, NULL, 0);
    }
    return failed;
}

int counter_end(struct counter *c, uint64_t calls[2]) {
    int failed = read(c->socket, calls, 2 * sizeof *calls) == 2 * sizeof *calls ? 0 : ECHILD;
    int status = 0;
    waitpid(c->child, &status, 0);
    if (failed && WIFEXITED(status) && WEXITSTATUS(status) == ENOSYS)
        failed = ENOSYS;
    close(c->socket);
    return failed;
}
