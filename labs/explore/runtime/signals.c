/* What would end the process: signals, abort, exit and failed assertions. They end the schedule: a
 * handler leaves by a switch. */
#include "engine.h"

#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

enum { TICK = 250000 /* microseconds */, SILENT_TICKS = 2 };

/* What the last tick has seen. */
struct watch {
    uint64_t seen; /* schedule, steps and calls */
    int silent;    /* ticks since that changed */
};

static struct watch *watch;

_Noreturn void __real_exit(int status);

static void on_fault(int signal, siginfo_t *info, void *context) {
    (void)context;

    struct thread *t = engine->current;

    if (!t) {
        fprintf(stderr, "explore: signal %d outside the program\n", signal);
        _exit(2);
    }
    if (signal == SIGFPE)
        report_fault(FAULT_CRASH, "", "Thread %u divides by zero.", t->number);
    if (signal == SIGABRT)
        report_fault(FAULT_ABORT, "", "Thread %u aborts.", t->number);
    if (signal == SIGSEGV && threads_have((uintptr_t)info->si_addr))
        report_fault(FAULT_CRASH, "", "Thread %u uses more stack than it has.", t->number);
    if (signal == SIGILL || signal == SIGTRAP)
        report_fault(FAULT_CRASH, "", "Thread %u uses an index or a pointer outside of an object.",
                     t->number);
    report_fault(FAULT_CRASH, "",
                 "Thread %u crashes (signal %d, address 0x%lx): a pointer that is null or wild.",
                 t->number, signal, (unsigned long)info->si_addr);
}

/* Fires each quarter of a second of processor time. Ends a schedule in which a thread makes no call
 * at all, not even behind a branch: an empty loop without a condition. */
static void on_tick(int signal) {
    (void)signal;

    uint64_t seen =
        engine->schedule << 40 ^ (uint64_t)engine->visible << 24 ^ (uint32_t)engine->silent;

    watch->silent = seen == watch->seen ? watch->silent + 1 : 0;
    watch->seen = seen;
    if (engine->current && watch->silent >= SILENT_TICKS) {
        watch->silent = 0;
        thread_endless();
    }
}

void signals_catch(void) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    stack_t stack = {.ss_sp = map_memory(1 << 16), .ss_size = 1 << 16};
    struct sigaction action = {.sa_sigaction = on_fault,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    struct sigaction tick = {.sa_handler = on_tick, .sa_flags = SA_ONSTACK | SA_NODEFER};
    struct itimerval often = {.it_interval = {.tv_usec = TICK}, .it_value = {.tv_usec = TICK}};

    watch = map_memory(sizeof *watch);
    sigaltstack(&stack, NULL);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigaction(faults[i], &action, NULL);
    sigaction(SIGVTALRM, &tick, NULL);
    setitimer(ITIMER_VIRTUAL, &often, NULL);
}

void __wrap_abort(void) {
    if (engine->current)
        report_fault(FAULT_ABORT, "", "Thread %u calls abort.", engine->current->number);
    _exit(2);
}

void __wrap_exit(int status) {
    if (engine->current)
        report_fault(FAULT_ABORT, "", "Thread %u calls exit(%d).", engine->current->number, status);
    __real_exit(status);
}

void __wrap___assert_fail(const char *claim, const char *file, unsigned line,
                          const char *function) {
    (void)function;
    report_fault(FAULT_ABORT, claim, "An assertion fails: %s (%s:%u).", claim, file, line);
}
