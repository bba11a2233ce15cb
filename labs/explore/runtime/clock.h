/* Vector clocks, and what a thread knows by them: the happens-before of model.c and place.c. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#if defined __SSE2__
#include <emmintrin.h>
#else
#include <arm_neon.h>
#endif

enum { SC_LANE = 7 }; /* the lane of a clock that counts seq_cst stores */

/* A vector clock: for each thread, a number of its steps. */
typedef uint16_t vclock __attribute__((vector_size(16)));

/* For each lane, by how much a is greater than b, or 0. One instruction, which C has no word for.
 */
static inline vclock beyond(vclock a, vclock b) {
#if defined __SSE2__
    return (vclock)_mm_subs_epu16((__m128i)a, (__m128i)b);
#else
    return (vclock)vqsubq_u16((uint16x8_t)a, (uint16x8_t)b);
#endif
}

static inline vclock later(vclock a, vclock b) {
    return beyond(a, b) + b;
}

static inline vclock earlier(vclock a, vclock b) {
    return a - beyond(a, b);
}

/* Reports whether any lane is not 0. */
static inline bool any(vclock mask) {
    typedef uint64_t pair __attribute__((vector_size(16)));
    pair p = (pair)mask;

    return (p[0] | p[1]) != 0;
}

/* For each lane, a mask of it. A lane is changed by masks: to store 2 bytes of 16 that are loaded
 * next would stall the processor. */
#define X 0xffff
static const vclock lanes[8] = {{X},
                                {0, X},
                                {0, 0, X},
                                {0, 0, 0, X},
                                {0, 0, 0, 0, X},
                                {0, 0, 0, 0, 0, X},
                                {0, 0, 0, 0, 0, 0, X},
                                {0, 0, 0, 0, 0, 0, 0, X}};
#undef X

static inline vclock with_lane(vclock v, unsigned lane, uint16_t value) {
    return (v & ~lanes[lane]) | (lanes[lane] & value);
}

/* The moments of a store that only one thread has seen yet. */
static inline vclock seen_by(unsigned lane, uint16_t time) {
    return with_lane(~(vclock){0}, lane, time);
}

/* What a thread knows of the others. What happened before it is in hb. What it may no longer
 * overlook is in co: the same, and what seq_cst fences add. A load that reads a store takes over
 * the view in it. */
struct view {
    vclock hb;
    vclock co;
};

static inline void view_join(struct view *to, const struct view *from) {
    to->hb = later(to->hb, from->hb);
    to->co = later(to->co, from->co);
}

#endif
