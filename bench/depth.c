//go:build amd64 || arm64

/* Two sides that call down to a depth, switch at the bottom, and return. */
#include <stdint.h>

#include "../asm/context.h"

/* How many frames, at least 1, are between a side and its switch. */
size_t pingpong_depth;

/* Each frame has a cache line, which is written on the way down and on the way up. */
#define DESCEND(name, at_the_bottom)                                                               \
    __attribute__((noinline)) static void name(size_t frames, struct marl_fiber_context *from,     \
                                               struct marl_fiber_context *to) {                    \
        uint64_t line[8];                                                                          \
        __asm__ volatile("" : "=m"(line));                                                         \
        line[0] = frames;                                                                          \
        if (frames > 1)                                                                            \
            name(frames - 1, from, to);                                                            \
        else                                                                                       \
            at_the_bottom;                                                                         \
        line[0]++;                                                                                 \
        __asm__ volatile("" ::"m"(line));                                                          \
    }

DESCEND(descend_and_switch, marl_fiber_swap_fp(from, to))
DESCEND(descend, __asm__ volatile("" ::"r"(from), "r"(to) : "memory"))

#define CONTEXT struct marl_fiber_context
#define SET_TARGET marl_fiber_set_target

#define PINGPONG pingpong_deep
#define SWAP(from, to) descend_and_switch(pingpong_depth, from, to)
#include "pingpong.h"

#define PINGPONG pingpong_deep_call
#define SWAP(from, to) descend(pingpong_depth, from, to)
#include "pingpong.h"
