/* Counts system calls by ptrace: a traced thread stops at the entry and at the exit of each. */
#define _GNU_SOURCE
#include "count.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* No process has this number: a call that asks for its group is a mark. */
enum { MARK = 0x7ffffff1, MARKS = 3 };

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
            ptrace(PTRACE_INTERRUPT, thread, 0,
                   0); /* from then on it can be told to stop at calls */
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
    while ((thread = waitpid(-1, &status, __WALL)) > 0) {
        struct __ptrace_syscall_info info = {0};
        int sig = WSTOPSIG(status);
        if (!WIFSTOPPED(status))
            continue;
        if (sig == (SIGTRAP | 0x80)) {
            ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info);
            if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
                if (info.entry.nr == SYS_getpgid && info.entry.args[0] == MARK)
                    marks++;
                else if (!by_the_runtime(info.entry.nr))
                    calls[marks]++;
            }
            if (marks == MARKS)
                return;
        }
        /* A stop for a call, a new thread or an interrupt is no signal. */
        ptrace(PTRACE_SYSCALL, thread, 0, sig == (SIGTRAP | 0x80) || status >> 16 ? 0 : sig);
    }
}

/* The end of this process ends its tracing. */
static _Noreturn void child(pid_t parent, pid_t other, int from, int to) {
    uint64_t calls[MARKS] = {0};
    char allowed;
    int failed = read(from, &allowed, 1) == 1 ? seize(parent) : ESRCH;
    if (!failed && other)
        failed = seize(other);
    if (write(to, &failed, sizeof failed) == sizeof failed && !failed) {
        trace(calls);
        if (write(to, calls + 1, 2 * sizeof *calls) < 0)
            _exit(1);
    }
    _exit(0);
}

int counter_start(struct counter *c, pid_t other) {
    int down[2], up[2], failed;
    pid_t parent = getpid();
    sigset_t all, before;
    if (pipe2(down, O_CLOEXEC))
        return errno;
    if (pipe2(up, O_CLOEXEC)) {
        failed = errno;
        close(down[0]);
        close(down[1]);
        return failed;
    }
    sigfillset(&all); /* the child has no use for the handlers of Go */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    c->child = fork();
    if (!c->child)
        child(parent, other, down[0], up[1]);
    failed = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(down[0]);
    close(up[1]);
    c->from = up[0];
    if (c->child > 0) {
        prctl(PR_SET_PTRACER, c->child, 0, 0, 0); /* Yama asks for it; without Yama it fails */
        if (write(down[1], "", 1) != 1 || read(c->from, &failed, sizeof failed) != sizeof failed)
            failed = ECHILD;
    }
    close(down[1]);
    if (failed) {
        close(c->from);
        if (c->child > 0)
            waitpid(c->child, NULL, 0);
    }
    return failed;
}

int counter_end(struct counter *c, uint64_t calls[2]) {
    int failed = read(c->from, calls, 2 * sizeof *calls) == 2 * sizeof *calls ? 0 : ECHILD;
    waitpid(c->child, NULL, 0);
    close(c->from);
    return failed;
}
