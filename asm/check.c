//go:build amd64 || arm64

#include "context.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const names[] = {
    [MARL_BY_SWAP] = "marl_fiber_swap",
    [MARL_BY_SWAP_FP] = "marl_fiber_swap_fp",
    [MARL_BY_SWAP_INLINE] = "marl_fiber_swap_inline",
};

static int may_resume(enum marl_switch by, enum marl_switch suspended_by) {
    switch (suspended_by) {
    case MARL_PREPARED:
        return 1;
    case MARL_BY_SWAP:
    case MARL_BY_SWAP_INLINE:
        return by == suspended_by;
    case MARL_BY_SWAP_FP:
        return by != MARL_BY_SWAP_INLINE;
    case MARL_RESUMED:
        break;
    }
    return 0;
}

static void say(const char *words) {
    ssize_t written = write(STDERR_FILENO, words, strlen(words));

    (void)written; /* there is no other place to report a failure */
}

void marl_fiber_check(struct marl_fiber_context *from, const struct marl_fiber_context *to,
                      enum marl_switch by) {
    enum marl_switch suspended_by = to->suspended_by;

    if (!may_resume(by, suspended_by)) {
        say("fiberlab: ");
        say(names[by]);
        if (suspended_by >= MARL_BY_SWAP && suspended_by <= MARL_BY_SWAP_INLINE) {
            say(" resumes a context that was suspended by ");
            say(names[suspended_by]);
            say(": use the same switch on both sides\n");
        } else {
            say(" resumes a context in which nothing is suspended: prepare it by "
                "marl_fiber_set_target, or let a switch suspend its fiber first\n");
        }
        abort();
    }
    ((struct marl_fiber_context *)to)->suspended_by = MARL_RESUMED;
    from->suspended_by = by;
}
