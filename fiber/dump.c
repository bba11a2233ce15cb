/* Names for the goroutines in a dump. On SIGQUIT Go writes the stack of each goroutine, and ends
 * the program. It does not know which of them are fibers, nor their names: a table that is
 * written first shows them. */
#include <errno.h>
#include <stdlib.h>

#include "core.h"
#include "line.h"

/* All entries there are, free or not, by arrays. */
struct entries {
    struct entries *next;
    const struct fiberlab_entry *first;
    size_t count;
};
static struct entries *all;
static struct sigaction go_action;

/* Has dumps look through an array of entries until the process ends. Returns 0 when there is no
 * memory. */
int fiberlab_add_entries(const struct fiberlab_entry *first, size_t count) {
    struct entries *entries = malloc(sizeof *entries);
    if (!entries)
        return 0;
    entries->first = first;
    entries->count = count;
    entries->next = __atomic_load_n(&all, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&all, &entries->next, entries, 1, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        continue;
    return 1;
}

static const char *state_name(uint64_t word) {
    switch (word & FIBERLAB_STATE_MASK) {
    case FIBERLAB_STATE_CLOSED:
    case FIBERLAB_STATE_FINISHED:
        return NULL;
    case FIBERLAB_STATE_READY:
        return "Ready";
    case FIBERLAB_STATE_RUNNING:
        return "Running";
    }
    return "Suspended";
}

static void tell(const struct fiberlab_entry *entry) {
    const uint64_t *state = __atomic_load_n(&entry->state, __ATOMIC_ACQUIRE);
    const char *name = state ? state_name(__atomic_load_n(state, __ATOMIC_RELAXED)) : NULL;
    const char *task = __atomic_load_n(&entry->task, __ATOMIC_RELAXED);
    if (!name)
        return;
    struct fiberlab_line line = {.length = 0};
    fiberlab_add(&line, "fiberlab: goroutine ");
    fiberlab_add_number(&line, entry->goroutine, 10);
    fiberlab_add(&line, " is fiber \"");
    fiberlab_add(&line, entry->name);
    fiberlab_add(&line, "\", ");
    fiberlab_add(&line, name);
    if (task) {
        fiberlab_add(&line, ", task ");
        fiberlab_add(&line, task);
    }
    fiberlab_end_line(&line, "\n");
}

static void on_quit(int sig, siginfo_t *info, void *context) {
    int saved = errno;
    static uint32_t told;
    /* A program that leaves a core dump sends the signal on to each of its threads. */
    int own = info->si_code == SI_USER && info->si_pid == getpid();
    int again = __atomic_exchange_n(&told, 1, __ATOMIC_RELAXED) && own;
    for (struct entries *e = __atomic_load_n(&all, __ATOMIC_ACQUIRE); e && !again; e = e->next)
        for (size_t i = 0; i < e->count; i++)
            tell(e->first + i);
    errno = saved;
    fiberlab_pass_on(&go_action, sig, info, context);
}

/* Puts the table before Go's own handler, if there is one. Call it once. Returns 0, or an errno. */
int fiberlab_watch_dump(void) {
    struct sigaction now;
    if (sigaction(SIGQUIT, NULL, &now) != 0)
        return errno;
    return now.sa_flags & SA_SIGINFO ? fiberlab_watch(SIGQUIT, on_quit, &go_action) : 0;
}
