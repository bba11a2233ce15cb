/* Counts the switches that the loops of pingpong.h and ring.c make, by a switch that counts itself.
 * If they are not two a round trip, or one for each context that a lap passes, it says so and exits
 * with 1. */
#include <stdio.h>
#include <sys/mman.h>

#include "../ring.h"

static uint64_t switches;

static void count(struct marl_fiber_context *from, const struct marl_fiber_context *to) {
    switches++;
    marl_fiber_swap(from, to);
}

#undef SWAP
#define SWAP count
#include "../ring.c"

#define PINGPONG counted
#include "../pingpong.h"

enum { SIZE = 65536, MOST_TRIPS = 20, MEMBERS = 9 };

static struct member members[MEMBERS + 1];
static int wrong;

static void expect(uint64_t want, const char *what, uint64_t n) {
    if (switches != want && ++wrong)
        printf("%s of %ju: %ju switches\n", what, (uintmax_t)n, (uintmax_t)switches);
    switches = 0;
}

int main(void) {
    char *stacks =
        mmap(NULL, MEMBERS * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (uint64_t trips = 0; trips <= MOST_TRIPS; trips++) {
        counted(stacks, SIZE, trips);
        expect(2 * trips, "trips", trips);
    }
    for (int i = 0; i < MEMBERS; i++)
        ring_set_stack(&members[i + 1], (uintptr_t)stacks + i * SIZE,
                       (uintptr_t)stacks + (i + 1) * SIZE);
    for (size_t n = 1; n <= MEMBERS; n++) { /* and a smaller part after a larger one */
        ring_run(members, n, 3);
        expect(4 * (n + 1), "four laps, a part", n);
        ring_run(members, MEMBERS + 1 - n, 0);
        expect(MEMBERS + 2 - n, "a lap, a part", MEMBERS + 1 - n);
    }
    return wrong > 0;
}
