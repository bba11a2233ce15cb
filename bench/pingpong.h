/* Two contexts that switch to each other: what the C loops have in common.
 *
 * A mechanism's file sets the macros CONTEXT, SET_TARGET and SWAP, names its loop in PINGPONG, and
 * includes this header, which defines that loop. So the loops differ only in the switch. The header
 * ends the definitions of PINGPONG and SWAP, and a file may include it again for another loop. */
#ifndef FIBERLAB_BENCH_PINGPONG_H
#define FIBERLAB_BENCH_PINGPONG_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Switches trips times to a second context, on [stack, stack + size), and back. Returns how many
 * nanoseconds that took. After that the stack may be used again. */
typedef uint64_t pingpong(void *stack, size_t size, uint64_t trips);

extern pingpong pingpong_asm, pingpong_asm_inline, pingpong_asm_nofp, pingpong_deep,
    pingpong_deep_call, pingpong_floor, pingpong_sigsetjmp, pingpong_ucontext;

static inline uint64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif

#ifdef PINGPONG

/* Each loop begins a cache line, so that the figures do not depend on what is linked before it. */
#define LOOP __attribute__((noinline, aligned(64)))

/* Both sides make four switches in each turn of their loop. The jump that closes a turn costs as
 * much as the cheapest switch: with one switch in a turn, the loop would be measured as well. */
#define FOUR(swap)                                                                                 \
    do {                                                                                           \
        swap;                                                                                      \
        swap;                                                                                      \
        swap;                                                                                      \
        swap;                                                                                      \
    } while (0)

/* OF(pair) is the loop's name, and _pair. */
#define OF_NAMED(loop, name) loop##_##name
#define OF_LOOP(loop, name) OF_NAMED(loop, name)
#define OF(name) OF_LOOP(PINGPONG, name)

/* The contexts do not share a cache line. */
struct OF(pair) {
    _Alignas(64) CONTEXT home;
    _Alignas(64) CONTEXT away;
};

LOOP static void OF(answer)(void *arg) {
    struct OF(pair) *pair = arg;
    for (;;)
        FOUR(SWAP(&pair->away, &pair->home));
}

LOOP static uint64_t OF(ask)(struct OF(pair) * pair, uint64_t trips) {
    uint64_t start = nanoseconds();
    for (; trips >= 4; trips -= 4)
        FOUR(SWAP(&pair->home, &pair->away));
    for (; trips; trips--)
        SWAP(&pair->home, &pair->away);
    return nanoseconds() - start;
}

uint64_t PINGPONG(void *stack, size_t size, uint64_t trips) {
    static _Thread_local struct OF(pair) both; /* too large for a frame */
    struct OF(pair) *pair = &both;
    __asm__("" : "+r"(pair)); /* or else the compiler may compute the address in each turn */
    SET_TARGET(&pair->away, stack, size, OF(answer), pair);
    return OF(ask)(pair, trips);
}

#undef PINGPONG
#undef SWAP

#endif
