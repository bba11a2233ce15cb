/* The program around a submission's swap that is timed. It checks that the swap goes there and
 * back, says so, and then makes as many round trips as each line of its input says. It answers with
 * the nanoseconds that they took. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* As labs 2 and 3 have them. Only the submission knows what a context holds. They are weak so that
 * the link succeeds without one of them: then the grader's message names it. */
#define WEAK __attribute__((weak))
extern const size_t marl_fiber_context_size WEAK;
void marl_fiber_set_target(void *ctx, void *stack, size_t size, void (*target)(void *),
                           void *arg) WEAK;
void marl_fiber_swap(void *from, const void *to) WEAK;

struct context {
    unsigned char bytes[4096];
};

/* The loops of fiberlab bench. */
#define PINGPONG pingpong_submission
#define CONTEXT struct context
#define SET_TARGET marl_fiber_set_target
#define SWAP marl_fiber_swap
#include "../../pingpong.h"

static _Alignas(4096) unsigned char stack[64 << 10];

#define TRIPS 1000

/* Both sides count in memory, so that a loop whose counter is lost in a swap is noticed. */
static struct context home, away;
static volatile int calls, answers;

static void count_answers(void *arg) {
    (void)arg;
    for (;;) {
        answers++;
        marl_fiber_swap(&away, &home);
    }
}

static void check_trips(void) {
    if (marl_fiber_context_size > sizeof(struct context)) {
        printf("has contexts of %zu bytes: at most %zu can be measured\n", marl_fiber_context_size,
               sizeof(struct context));
        exit(1);
    }
    marl_fiber_set_target(&away, stack, sizeof stack, count_answers, NULL);
    for (int trip = 0; trip < TRIPS; trip++) {
        calls++;
        marl_fiber_swap(&home, &away);
    }
    if (calls != TRIPS || answers != TRIPS) {
        printf("does not work: of %d swaps there, %d were made and %d arrived\n", TRIPS, calls,
               answers);
        exit(1);
    }
    printf("ready\n");
    fflush(stdout);
}

int main(void) {
    char line[32];
    check_trips();
    while (fgets(line, sizeof line, stdin)) {
        uint64_t took = pingpong_submission(stack, sizeof stack, strtoull(line, NULL, 10));
        printf("%llu\n", (unsigned long long)took);
        fflush(stdout);
    }
    return 0;
}
