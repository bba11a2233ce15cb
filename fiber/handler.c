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

/* Calls Go's handler. On riscv64 it does not preserve the registers that a C function must, since
 * it expects the kernel to restore them all. */
static void call_go(const struct sigaction *go, int sig, siginfo_t *info, void *context) {
#if defined(__riscv)
    register intptr_t a0 __asm__("a0") = sig;
    register siginfo_t *a1 __asm__("a1") = info;
    register void *a2 __asm__("a2") = context;
    register void *a3 __asm__("a3") = (void *)go->sa_sigaction;
    __asm__ volatile("addi sp, sp, -16\n\t"
                     "sd s0, 0(sp)\n\t" /* the frame pointer cannot be named below */
                     "jalr a3\n\t"
                     "ld s0, 0(sp)\n\t"
                     "addi sp, sp, 16"
                     : "+r"(a0), "+r"(a1), "+r"(a2), "+r"(a3)
                     :
                     : "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a4", "a5", "a6", "a7", "s1",
                       "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "fs0", "fs1",
                       "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11",
                       "ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "ft8", "ft9", "ft10",
                       "ft11", "fa0", "fa1", "fa2", "fa3", "fa4", "fa5", "fa6", "fa7", "memory");
#else
    go->sa_sigaction(sig, info, context);
#endif
}

/* Does what the signal would have done without the handler above. */
void fiberlab_pass_on(const struct sigaction *go, int sig, siginfo_t *info, void *context) {
    if (go->sa_flags & SA_SIGINFO)
        call_go(go, sig, info, context);
    else if (go->sa_handler == SIG_DFL) {
        signal(sig, SIG_DFL);
        raise(sig);
    } else if (go->sa_handler != SIG_IGN)
        go->sa_handler(sig);
}
