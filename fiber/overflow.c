/* The report on a C stack that ran into its guard page, and on faults in C bodies of
 * which Go would not say a word. */
#define _GNU_SOURCE
#include <errno.h>
#include <ucontext.h>
#include <unistd.h>

#include "core.h"

static struct sigaction go_action;

/* A line put together without stdio, which is not safe in a signal handler. */
struct line {
    char text[512];
    size_t length;
};

static void add(struct line *line, const char *text) {
    while (*text && line->length < sizeof line->text)
        line->text[line->length++] = *text++;
}

static void add_number(struct line *line, uintptr_t number, unsigned base) {
    char digits[24], *at = digits + sizeof digits;
    *--at = 0;
    do {
        *--at = "0123456789abcdef"[number % base];
        number /= base;
    } while (number);
    if (base == 16)
        add(line, "0x");
    add(line, at);
}

static void report_overflow(const fiberlab_fiber *f, uintptr_t address) {
    struct line line = {.length = 0};
    add(&line, "fiberlab: stack overflow on fiber \"");
    add(&line, f->name);
    add(&line, "\": its C stack of ");
    add_number(&line, f->stack_hi - f->stack_lo, 10);
    add(&line, " bytes ran into the guard page ");
    add_number(&line, f->guard_lo, 16);
    add(&line, "-");
    add_number(&line, f->guard_hi, 16);
    add(&line, " at ");
    add_number(&line, address, 16);
    add(&line, "; raise Config.StackSize\n");
    ssize_t written = write(STDERR_FILENO, line.text, line.length);
    (void)written;
}

static void report_fault(const fiberlab_fiber *f, uintptr_t address) {
    struct line line = {.length = 0};
    add(&line, "fiberlab: fault in the C body of fiber \"");
    add(&line, f->name);
    add(&line, "\" at address ");
    add_number(&line, address, 16);
    add(&line, "; Go's report shows the root's goroutine\n");
    ssize_t written = write(STDERR_FILENO, line.text, line.length);
    (void)written;
}

/* The stack pointer of the code that was interrupted. */
static uintptr_t interrupted_sp(const ucontext_t *uc) {
#ifdef __x86_64__
    return (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];
#else
    return (uintptr_t)uc->uc_mcontext.sp;
#endif
}

/* Whether f, a C body's fiber, was in C. Go functions that it calls run on a stack of
 * Go's, and a fault in one is a panic. C functions that those call in turn run on f's stack
 * again, and cannot be told from the body. */
static int in_c(const fiberlab_fiber *f, const void *context) {
    uintptr_t sp = interrupted_sp(context);
    return f->body && sp >= f->stack_lo && sp < f->stack_hi;
}

/* Runs on the thread's alternate signal stack, since the fiber's is used up. */
static void on_fault(int sig, siginfo_t *info, void *context) {
    int saved = errno;
    struct fiberlab_thread *thread = fiberlab_thread_self();
    fiberlab_fiber *f = thread->current;
    uintptr_t address = (uintptr_t)info->si_addr;
    int lost = 0;
    if (f && !f->root && address >= f->guard_lo && address < f->guard_hi) {
        report_overflow(f, address);
        lost = *fiberlab_slot() == 0 || f->body;
    } else if (f && (*fiberlab_slot() == 0 || in_c(f, context))) {
        report_fault(f, address);
        lost = 1;
    }
    /* In a C body that is not in Go, be it for the first time or again, Go's handler
     * would die without a word. The process is lost: lend the fiber the thread's own
     * identity. */
    if (lost)
        *fiberlab_slot() = thread->root->g;
    errno = saved;
    fiberlab_pass_on(&go_action, sig, info, context);
}

/* Puts the report before Go's own handler, which then goes on as it would have.
 * Call it once. Returns 0, or an errno. */
int fiberlab_watch_overflow(void) {
    return fiberlab_watch(SIGSEGV, on_fault, &go_action);
}
