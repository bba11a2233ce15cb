/* Suspends a fiber by one switch and resumes it by another.
 *
 *     worlds FIRST SECOND
 *
 * FIRST is how the fiber is suspended: by swap, swap_fp or inline; prepared, if it was never
 * entered; or running, if it was resumed and not suspended since. SECOND is the switch that resumes
 * it. Exits with 0 if the fiber goes on. */
#include "../inline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Of processor time. */
enum { SECONDS = 3 };

static struct marl_fiber_context thread, fiber, another;
static char stack[65536] __attribute__((aligned(16)));
static const char *first, *second;

__attribute__((noinline)) static void swap_inline(struct marl_fiber_context *from,
                                                  const struct marl_fiber_context *to) {
    marl_fiber_swap_inline(from, to);
}

static void switch_by(const char *name, struct marl_fiber_context *from,
                      const struct marl_fiber_context *to) {
    if (strcmp(name, "swap") == 0)
        marl_fiber_swap(from, to);
    else if (strcmp(name, "swap_fp") == 0)
        marl_fiber_swap_fp(from, to);
    else if (strcmp(name, "inline") == 0)
        swap_inline(from, to);
    else
        exit(2);
}

static void body(void *unused) {
    (void)unused;
    if (strcmp(first, "running") == 0)
        switch_by(second, &another, &fiber);
    else if (strcmp(first, "prepared") != 0)
        switch_by(first, &fiber, &thread);
    exit(0);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: worlds FIRST SECOND\n");
        return 2;
    }
    first = argv[1], second = argv[2];
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    setrlimit(RLIMIT_CPU, &(struct rlimit){SECONDS, SECONDS});
    marl_fiber_set_target(&fiber, stack, sizeof stack, body, NULL);
    if (strcmp(first, "prepared") != 0 && strcmp(first, "running") != 0)
        switch_by(first, &thread, &fiber); /* and back by the same */
    switch_by(second, &thread, &fiber);
    return 1;
}
