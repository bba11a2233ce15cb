/* Bodies that switch. */
#include "cbody.h"

enum { WORDS = 32 };

void cbody_return(void *order) {
    struct cbody_order *o = order;
    o->self = fiberlab_current();
    o->done++;
}

void cbody_nothing(void *unused) {
    (void)unused;
}

void cbody_hold(void *root) {
    fiberlab_switch(root);
}

static void switch_once(struct cbody_order *o) {
    int code = fiberlab_switch(o->peer);
    if (code != FIBERLAB_OK)
        o->code = code;
    else
        o->done++;
}

/* The words are computed before the loop and used after each switch, so that the compiler keeps
 * some of them in callee-saved registers and the others on the stack. */
void cbody_turns(void *order) {
    struct cbody_order *o = order;
    volatile uint64_t seed = (uint64_t)(uintptr_t)o * 0x9e3779b97f4a7c15u;
    uint64_t a = seed, b = seed + 1, c = seed + 2, d = seed + 3, e = seed + 4, f = seed + 5;
    double x = (double)(seed >> 12), y = x + 1;

    for (int64_t i = 0; i < o->turns; i++) {
        switch_once(o);
        o->broken += a != seed || b != seed + 1 || c != seed + 2 || d != seed + 3 ||
                     e != seed + 4 || f != seed + 5;
        o->broken += x != (double)(seed >> 12) || y != x + 1;
    }
    o->self = fiberlab_current();
}

/* Goes down until the frames above, from start on, take depth bytes; each holds an array that must
 * not change. */
__attribute__((noinline)) static void fill(struct cbody_order *o, uintptr_t start, uint64_t level) {
    volatile uint64_t words[WORDS];
    for (uint64_t i = 0; i < WORDS; i++)
        words[i] = (uint64_t)(uintptr_t)o ^ (level * WORDS + i);
    if (start - (uintptr_t)words < (uintptr_t)o->depth)
        fill(o, start, level + 1);
    else if (o->callback)
        cbody_call_go(o->callback);
    else
        cbody_turns(o);
    for (uint64_t i = 0; i < WORDS; i++)
        o->broken += words[i] != ((uint64_t)(uintptr_t)o ^ (level * WORDS + i));
}

void cbody_deep(void *order) {
    struct cbody_order *o = order;
    fill(o, (uintptr_t)__builtin_frame_address(0), 0);
    o->self = fiberlab_current();
}

int64_t cbody_deep_call_go(uintptr_t callback, int64_t depth) {
    struct cbody_order o = {.callback = callback, .depth = depth};
    fill(&o, (uintptr_t)__builtin_frame_address(0), 0);
    return o.broken;
}
