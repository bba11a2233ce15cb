/* old-kernel COMMAND...: runs COMMAND as on a kernel that has no MADV_GUARD_INSTALL, as Linux had
 * none before 6.13, and no io_uring, as it had none before 5.1.
 *
 * A seccomp filter answers MADV_GUARD_INSTALL and MADV_GUARD_REMOVE with EINVAL, and the system
 * calls of io_uring with ENOSYS, as such a kernel does. Whatever COMMAND starts inherits the
 * filter, and no process can take it off again. FIBERLAB_GUARDS=mprotect and FIBERLAB_DRIVER=epoll
 * tell the tests what they must find. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* As in <linux/mman.h> of a new kernel. */
enum { GUARD_INSTALL = 102, GUARD_REMOVE = 103 };

/* The lower half of an argument: both architectures are little-endian. */
#define ARGUMENT(n) offsetof(struct seccomp_data, args[n])
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define IF_EQUAL(value, then, otherwise)                                                           \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (then), (otherwise))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, (action))

static int install_filter(void) {
    struct sock_filter program[] = {
        /* A jump passes over so many instructions. */
        LOAD(offsetof(struct seccomp_data, arch)),
        IF_EQUAL(ARCHITECTURE, 0, 8),
        LOAD(offsetof(struct seccomp_data, nr)),
        IF_EQUAL(__NR_io_uring_setup, 8, 0),
        IF_EQUAL(__NR_io_uring_enter, 7, 0),
        IF_EQUAL(__NR_io_uring_register, 6, 0),
        IF_EQUAL(__NR_madvise, 0, 3),
        LOAD(ARGUMENT(2)),
        IF_EQUAL(GUARD_INSTALL, 2, 0),
        IF_EQUAL(GUARD_REMOVE, 1, 0),
        RETURN(SECCOMP_RET_ALLOW),
        RETURN(SECCOMP_RET_ERRNO | EINVAL),
        RETURN(SECCOMP_RET_ERRNO | ENOSYS),
    };
    struct sock_fprog filter = {.len = sizeof program / sizeof program[0], .filter = program};

    /* Without privileges to gain, no privilege is needed to install a filter. */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: old-kernel COMMAND...\n");
        return 2;
    }
    if (install_filter() != 0) {
        fprintf(stderr, "old-kernel: this system lets no process install a seccomp filter: %s\n",
                strerror(errno));
        return 1;
    }
    setenv("FIBERLAB_GUARDS", "mprotect", 1);
    setenv("FIBERLAB_DRIVER", "epoll", 1);
    execvp(argv[1], argv + 1);
    fprintf(stderr, "old-kernel: %s: %s\n", argv[1], strerror(errno));
    return 127;
}
