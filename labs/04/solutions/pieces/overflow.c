/* The signal stack is a mapped one, with a guard page, and the line is written at once.
 */
#include "stack.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static struct {
    const struct fiber *fibers;
    size_t count;
    int status;
    uintptr_t page;
    struct stack handler;
    struct sigaction before;
} watch;

static const struct fiber *owner(uintptr_t address) {
    const struct fiber *f = watch.fibers, *end = f + watch.count;

    for (; f != end; f++)
        if ((uintptr_t)f->stack.lo - address - 1 < watch.page)
            return f;
    return NULL;
}

static void on_fault(int sig, siginfo_t *info, void *context) {
    const struct fiber *f = owner((uintptr_t)info->si_addr);
    char line[200] = "the guard page was hit by ";

    (void)context;
    if (f == NULL) {
        sigaction(sig, &watch.before, NULL);
        return;
    }
    size_t length = strlen(line), most = sizeof line - length - 1, more = strlen(f->name);
    if (more > most)
        more = most;
    memcpy(line + length, f->name, more);
    line[length + more] = '\n';
    if (write(STDERR_FILENO, line, length + more + 1) < 0)
        _exit(watch.status);
    _exit(watch.status);
}

int overflow_watch(const struct fiber *fibers, size_t count, int status) {
    int error = stack_map(&watch.handler, 4 * (size_t)SIGSTKSZ);

    if (error != 0)
        return error;
    watch.fibers = fibers;
    watch.count = count;
    watch.status = status;
    watch.page = (uintptr_t)getpagesize();

    stack_t stack = {.ss_sp = watch.handler.lo, .ss_size = watch.handler.size};
    struct sigaction action = {.sa_sigaction = on_fault,
                               .sa_flags = SA_ONSTACK | SA_SIGINFO | SA_NODEFER};
    sigfillset(&action.sa_mask);
    if (sigaltstack(&stack, NULL) != 0 || sigaction(SIGSEGV, &action, &watch.before) != 0)
        return errno;
    return 0;
}
