/* Runs switches from a thread to a fiber and back one instruction at a time, and unwinds the stack
 * at each: one of the functions that switch must be found. Prints where it first is not, and exits
 * with 1, or with SKIPPED if the processor does not trap after each instruction. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>
#include <unwind.h>

#include "../../asm/context.h"

extern void fiberlab_swap_balanced(struct marl_fiber_context *from,
                                   const struct marl_fiber_context *to);

enum { LAPS = 3, MOST_FRAMES = 50, TRAP_FLAG = 0x100, SKIPPED = 77 };

static struct marl_fiber_context thread, fiber;
static char stack[65536] __attribute__((aligned(16)));
static int steps, lost, frames, found;

/* Each int3 tells step to begin or to end. */
__attribute__((noinline, noclone)) static void on_thread(void) {
    __asm__ volatile("int3" ::: "memory");
    fiberlab_swap_balanced(&thread, &fiber);
    __asm__ volatile("int3" ::: "memory");
}

__attribute__((noinline, noclone)) static void on_fiber(void *unused) {
    (void)unused;
    for (;;)
        fiberlab_swap_balanced(&fiber, &thread);
}

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *unused) {
    char *address = (char *)_Unwind_GetIP(context);
    void *function = _Unwind_FindEnclosingFunction(address - 1);

    (void)unused;
    found |= function == (void *)on_thread || function == (void *)on_fiber;
    return ++frames < MOST_FRAMES ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

static void step(int sig, siginfo_t *info, void *context) {
    ucontext_t *uc = context;

    (void)sig;
    if (info->si_code != TRAP_TRACE) {
        uc->uc_mcontext.gregs[REG_EFL] ^= TRAP_FLAG;
        return;
    }
    steps++;
    frames = found = 0;
    _Unwind_Backtrace(visit, NULL);
    if (!found && ++lost == 1)
        printf("no caller is found at marl_fiber_swap_fp%+lld, in %d frames\n",
               uc->uc_mcontext.gregs[REG_RIP] - (long long)marl_fiber_swap_fp, frames);
}

int main(void) {
    struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};

    sigaction(SIGTRAP, &action, NULL);
    marl_fiber_set_target(&fiber, stack, sizeof stack, on_fiber, NULL);
    fiberlab_swap_balanced(&thread, &fiber); /* the first entry has no caller to be found */
    for (int lap = 0; lap < LAPS; lap++)
        on_thread();
    return steps == 0 ? SKIPPED : lost > 0;
}
