/* A function that needs all the registers there are, and more, keeps its variables across a switch,
 * however the compiler laid it out. This is the check for the inline variant, whose registers the
 * compiler saves. */
#include "../inline.h"
#include "prober.h"

#include <stdio.h>
#include <string.h>

enum { ROUNDS = 50 };

static const struct variant *variant;
static void *context[2];
static int wrong;

/* The variables are single ones, not arrays, so that they compete for registers. */
#define EACH(M)                                                                                    \
    M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13) M(14) M(15)
#define DECLARE(n)                                                                                 \
    uint64_t i##n = next_random();                                                                 \
    double d##n = (double)next_random();
#define MIX(n)                                                                                     \
    sum = sum * 31 + i##n;                                                                         \
    real = real * 0.5 + d##n;

static void use_everything(int side, size_t extra) {
    EACH(DECLARE)
    _Alignas(64) unsigned char aligned[64];
    unsigned char variable[extra];
    uint64_t sum = 0, sum_after;
    double real = 0, real_after;
    size_t i;

    memset(aligned, side + 1, sizeof aligned);
    memset(variable, side + 3, extra);
    EACH(MIX)
    sum_after = sum, real_after = real;
    sum = 0, real = 0;
    if (variant->inlined)
        marl_fiber_swap_inline(context[side], context[!side]);
    else
        variant->swap(context[side], context[!side]);
    EACH(MIX)
    for (i = 0; i < sizeof aligned; i++)
        wrong |= aligned[i] != side + 1;
    for (i = 0; i < extra; i++)
        wrong |= variable[i] != side + 3;
    wrong |= sum != sum_after || real != real_after;
}

static void other_fiber(void *arg) {
    (void)arg;
    for (;;)
        use_everything(1, next_random() % 200);
}

int check_locals(const struct variant *v) {
    const size_t size = 65536;
    int i;

    variant = v;
    context[0] = new_context(v);
    context[1] = new_context(v);
    v->set_target(context[1], new_stack(size), size, other_fiber, NULL);
    for (i = 0; i < ROUNDS && !wrong; i++)
        use_everything(0, next_random() % 200);
    if (wrong)
        printf("%s: local variables changed across a switch\n", v->name);
    return wrong;
}
