/* The reports on a C stack that ran into its guard page, and on faults in C bodies that
 * Go would not report. */
#define _GNU_SOURCE
#include <errno.h>
#include <ucontext.h>
#include <unistd.h>

#include "core.h"
#include "line.h"

/* The signals by which C code ends a program. */
static const struct {
    int sig;
    const char *name;
    const char *before_address; /* what the address means that comes with it; NULL: none does */
} faults[] = {
    {SIGSEGV, "SIGSEGV", " at address "},
    {SIGBUS, "SIGBUS", " at address "},
    {SIGFPE, "SIGFPE", " by the instruction at "},
    {SIGILL, "SIGILL", " by the instruction at "},
    {SIGTRAP, "SIGTRAP", " by the instruction at "},
    {SIGABRT, "SIGABRT", NULL},
};
enum { FAULTS = sizeof faults / sizeof faults[0] };

static struct sigaction go_actions[FAULTS];

static void report_overflow(const fiberlab_fiber *f, uintptr_t address) {
    struct fiberlab_line line = {.length = 0};
    fiberlab_add(&line, "fiberlab: stack overflow on fiber \"");
    fiberlab_add(&line, f->name);
    fiberlab_add(&line, "\": its C stack of ");
    fiberlab_add_number(&line, f->stack_hi - f->stack_lo, 10);
    fiberlab_add(&line, " bytes ran into the guard page");
    fiberlab_add(&line, f->guard_hi - f->guard_lo > (uintptr_t)sysconf(_SC_PAGESIZE) ? "s " : " ");
    fiberlab_add_number(&line, f->guard_lo, 16);
    fiberlab_add(&line, "-");
    fiberlab_add_number(&line, f->guard_hi, 16);
    fiberlab_add(&line, " at ");
    fiberlab_add_number(&line, address, 16);
    fiberlab_end_line(&line, "; raise Config.StackSize\n");
}

static void report_root_overflow(const fiberlab_fiber *f, uintptr_t size, uintptr_t address) {
    struct fiberlab_line line = {.length = 0};
    fiberlab_add(&line, "fiberlab: stack overflow on fiber \"");
    fiberlab_add(&line, f->name);
    fiberlab_add(&line, "\": its C stack, the thread's own of some ");
    fiberlab_add_number(&line, size, 10);
    fiberlab_add(&line, " bytes, ran out at ");
    fiberlab_add_number(&line, address, 16);
    fiberlab_end_line(&line, "; raise the limit that the program is started with (ulimit -s)\n");
}

static void report_fault(const fiberlab_fiber *f, int fault, uintptr_t address) {
    struct fiberlab_line line = {.length = 0};
    fiberlab_add(&line, "fiberlab: ");
    fiberlab_add(&line, faults[fault].name);
    fiberlab_add(&line, " in the C body of fiber \"");
    fiberlab_add(&line, f->name);
    fiberlab_add(&line, "\"");
    if (faults[fault].before_address) {
        fiberlab_add(&line, faults[fault].before_address);
        fiberlab_add_number(&line, address, 16);
    }
    fiberlab_end_line(&line, "; Go's report shows the root's goroutine\n");
}

/* Whether f, a C body's fiber, was in C. Go functions that it calls run on a Go
 * stack, and a fault in one is a panic. C functions that those call in turn run on f's stack
 * again, and cannot be told from the body. */
static int in_c(const fiberlab_fiber *f, uintptr_t sp) {
    return f->body && sp >= f->stack_lo && sp < f->stack_hi;
}

/* A root's stack is the thread's. The g that the slot of a thread holds while C runs
 * begins with that stack's bounds; the runtime has estimated the lower one. Memory
 * between the stack pointer and the upper one can fault only if the stack has run out. The same
 * holds for the bytes that code may use below the stack pointer. */
enum {
    ESTIMATE = 256 << 10,
#ifdef __x86_64__
    BELOW = 128, /* the red zone */
#else
    BELOW = 1024, /* the store that makes a frame lowers the stack pointer by so much at most */
#endif
};

static int overflows_thread(const fiberlab_fiber *root, uintptr_t sp, uintptr_t address,
                            uintptr_t *size) {
    const uintptr_t *bounds = (const uintptr_t *)root->g;
    *size = bounds[1] - bounds[0];
    return sp >= bounds[0] - ESTIMATE && sp < bounds[1] && address >= sp - BELOW &&
           address < bounds[1];
}

static int in_guard(const fiberlab_fiber *f, uintptr_t address) {
    return address >= f->guard_lo && address < f->guard_hi;
}

/* The fiber that runs on the thread. In the middle of a switch it is the fiber that is leaving,
 * if the address is in that one's guard. */
static const fiberlab_fiber *culprit(const struct fiberlab_thread *thread, uintptr_t address) {
    const fiberlab_fiber *departed = thread->departed;
    return departed && !departed->root && in_guard(departed, address) ? departed : thread->current;
}

/* Whether the code that the signal interrupts has caused it, not another process. */
static int is_own(const siginfo_t *info) {
    return info->si_code > 0 || (info->si_code == SI_TKILL && info->si_pid == getpid());
}

/* Reports a fault that Go would not report, or misreport. Returns whether Go would then die in
 * silence, because the signal has interrupted a C body outside of Go code. */
static int report(const fiberlab_fiber *f, int fault, const siginfo_t *info, const void *context) {
    uintptr_t address = (uintptr_t)info->si_addr, sp = fiberlab_saved_sp(context), size;
    int segv = faults[fault].sig == SIGSEGV && is_own(info);
    if (f->root) {
        if (segv && overflows_thread(f, sp, address, &size))
            report_root_overflow(f, size, address);
        return 0;
    }
    if (segv && in_guard(f, address)) {
        report_overflow(f, address);
        return *fiberlab_slot() == 0 || f->body;
    }
    if (*fiberlab_slot() != 0 && !in_c(f, sp))
        return 0;
    if (is_own(info))
        report_fault(f, fault, address);
    return 1;
}

/* Runs on the thread's alternate signal stack, since the fiber's may be used up. */
static void on_fault(int sig, siginfo_t *info, void *context) {
    int saved = errno, fault = 0;
    while (faults[fault].sig != sig)
        fault++;
    struct fiberlab_thread *thread = fiberlab_thread_self();
    const fiberlab_fiber *f = culprit(thread, (uintptr_t)info->si_addr);
    uintptr_t g = *fiberlab_slot();
    /* While Go reports, the fiber has the root's identity. */
    if (f && report(f, fault, info, context))
        *fiberlab_slot() = thread->root->g;
    errno = saved;
    fiberlab_pass_on_fatal(&go_actions[fault], sig, info, context);
    *fiberlab_slot() = g; /* the program has asked for the signal, and goes on */
}

/* Puts the reports before Go's own handlers, which then go on as they would have.
 * Call it once. Returns 0, or an errno. */
int fiberlab_watch_overflow(void) {
    int error = 0;
    for (int i = 0; i < FAULTS && error == 0; i++)
        error = fiberlab_watch(faults[i].sig, on_fault, &go_actions[i]);
    return error;
}
