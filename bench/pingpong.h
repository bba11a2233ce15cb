/* Two contexts that switch to each other: what the C loops have in common.
 *
 * A mechanism's file sets the macros CONTEXT, SET_TARGET and SWAP, names its table of functions in
 * PINGPONG, and includes this header, which defines that table. So the loops differ only in the
 * switch. A file may do so for several mechanisms: all names of the header begin with the table's
 * name. */
#ifndef FIBERLAB_BENCH_PINGPONG_H
#define FIBERLAB_BENCH_PINGPONG_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct pingpong {
    /* Makes a pair whose second half runs on [stack, stack + size). Returns NULL if there is no
     * memory. */
    void *(*open)(void *stack, size_t size);
    /* Switches there and back trips times and returns how many nanoseconds that took. */
    uint64_t (*run)(void *pair, uint64_t trips);
    /* Frees what open allocated. After that the stack may be freed. */
    void (*close)(void *pair);
};

extern const struct pingpong pingpong_asm, pingpong_asm_inline, pingpong_asm_nofp, pingpong_deep,
    pingpong_deep_call, pingpong_floor, pingpong_sigsetjmp, pingpong_ucontext;

static inline uint64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif

#ifdef PINGPONG

#include <stdlib.h>

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

/* OF(run) is the table's name, and _run. */
#define OF_NAMED(table, name) table##_##name
#define OF_TABLE(table, name) OF_NAMED(table, name)
#define OF(name) OF_TABLE(PINGPONG, name)

/* The contexts do not share a cache line, and neither do those of two fibers. */
struct OF(pair) {
    _Alignas(64) CONTEXT home;
    _Alignas(64) CONTEXT away;
};

LOOP static void OF(answer)(void *arg) {
    struct OF(pair) *pair = arg;
    for (;;)
        FOUR(SWAP(&pair->away, &pair->home));
}

static void *OF(open)(void *stack, size_t size) {
    struct OF(pair) *pair = aligned_alloc(64, (sizeof *pair + 63) / 64 * 64);
    if (pair)
        SET_TARGET(&pair->away, stack, size, OF(answer), pair);
    return pair;
}

LOOP static uint64_t OF(run)(void *arg, uint64_t trips) {
    struct OF(pair) *pair = arg;
    uint64_t start = nanoseconds();
    for (; trips >= 4; trips -= 4)
        FOUR(SWAP(&pair->home, &pair->away));
    for (; trips; trips--)
        SWAP(&pair->home, &pair->away);
    return nanoseconds() - start;
}

const struct pingpong PINGPONG = {OF(open), OF(run), free};

#endif
