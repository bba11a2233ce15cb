/* Counts the switches that the loops of pingpong.h make, by a switch that counts itself. If they
 * are not two a round trip, it says so and exits with 1. */
#include <stdio.h>
#include <sys/mman.h>

#include "../../asm/context.h"

static uint64_t switches;

static void count(struct marl_fiber_context *from, const struct marl_fiber_context *to) {
    switches++;
    marl_fiber_swap(from, to);
}

#define PINGPONG counted
#define CONTEXT struct marl_fiber_context
#define SET_TARGET marl_fiber_set_target
#define SWAP count
#include "../pingpong.h"

enum { SIZE = 65536, MOST_TRIPS = 20 };

int main(void) {
    void *stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *pair = counted.open(stack, SIZE);
    int wrong = 0;

    for (uint64_t trips = 0; trips <= MOST_TRIPS; trips++) {
        switches = 0;
        counted.run(pair, trips);
        if (switches != 2 * trips && ++wrong)
            printf("%ju trips: %ju switches\n", (uintmax_t)trips, (uintmax_t)switches);
    }
    counted.close(pair);
    return wrong > 0;
}
