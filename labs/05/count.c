/* count COMMAND...: runs COMMAND and counts its system calls by their numbers.
 *
 * It traces the command: the kernel stops a traced process at the entry and at the exit of each
 * system call, and tells its tracer. */
#define _GNU_SOURCE
#include <elf.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <sys/user.h>
typedef struct user_regs_struct registers;
#define NUMBER(regs) ((long)(regs).orig_rax)
#else
#include <asm/ptrace.h>
typedef struct user_pt_regs registers;
#define NUMBER(regs) ((long)(regs).regs[8])
#endif

enum { MOST = 1024 };

int main(int argc, char **argv) {
    static long counted[MOST];
    int status;

    if (argc < 2) {
        fprintf(stderr, "usage: count COMMAND...\n");
        return 2;
    }
    pid_t child = fork();

    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
            perror("count: this system permits no ptrace (use strace -c elsewhere)");
            _exit(126);
        }
        execvp(argv[1], argv + 1);
        perror("count: exec");
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return 1;
    ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    for (int entry = 1, signal = 0;; signal = 0) {
        ptrace(PTRACE_SYSCALL, child, NULL, (long)signal);
        if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
            break;
        if (WSTOPSIG(status) != (SIGTRAP | 0x80)) { /* a signal, and not a system call */
            signal = WSTOPSIG(status);
            continue;
        }
        if (entry) {
            registers regs;
            struct iovec all = {&regs, sizeof regs};

            ptrace(PTRACE_GETREGSET, child, (void *)(uintptr_t)NT_PRSTATUS, &all);
            if (NUMBER(regs) >= 0 && NUMBER(regs) < MOST)
                counted[NUMBER(regs)]++;
        }
        entry = !entry;
    }
    for (long i = 0; i < MOST; i++)
        if (counted[i] > 0)
            printf("%6ld times system call %ld\n", counted[i], i);
    return 0;
}
