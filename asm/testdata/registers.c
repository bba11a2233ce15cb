/* Registers survive a switch. Two fibers call the switch in turn with fresh random values in every
 * callee-saved register; no value occurs twice, so what one side finds can only be its own. */
#include "prober.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 50 };

#if defined(__x86_64__)

const char *const saved_names[] = {"rbx", "rbp", "r12", "r13", "r14", "r15"};
const char *const control_names[] = {"mxcsr", "x87 control word"};
const uint64_t control_bits[] = {0xffc0, 0x1f3f};
const uint64_t control_default[] = {0x1f80, 0x037f & 0x1f3f};

uint64_t random_control(int word) {
    uint64_t precision;

    if (word == 0)
        return next_random() & control_bits[0];
    precision = next_random() % 3;
    precision += precision != 0; /* 1 is reserved */
    return (next_random() & 0x0c3f) | precision << 8;
}

#elif defined(__aarch64__)

const char *const saved_names[] = {"x19", "x20", "x21", "x22", "x23", "x24", "x25",
                                   "x26", "x27", "x28", "x29", "d8",  "d9",  "d10",
                                   "d11", "d12", "d13", "d14", "d15"};
const char *const control_names[] = {"fpcr"};
/* Alternative half precision, default NaN, flush to zero, rounding: what all processors have. */
const uint64_t control_bits[] = {0x07c00000};
const uint64_t control_default[] = {0};

uint64_t random_control(int word) {
    return next_random() & control_bits[word];
}

#endif

static const struct variant *variant;
static void *context[2];
static uint64_t others[CONTROL_WORDS]; /* the control words with which the other side left */
static int visits;
static int wrong;

static void complain(const char *reg, int side, uint64_t want, uint64_t got) {
    if (!wrong)
        printf("%s: register %s of fiber %d: want %#" PRIx64 ", got %#" PRIx64 "\n", variant->name,
               reg, side, want, got);
    wrong = 1;
}

/* Every other time the lowest byte stays, so that a switch which compares no more is caught. */
static void change_control(int word) {
    uint64_t old = others[word];
    uint64_t kept = next_random() % 2 ? 0xff : 0;

    do
        others[word] = (random_control(word) & ~kept) | (old & kept);
    while (others[word] == old);
}

/* Leaves side with random registers; on the way back they must be what they were. */
static void visit_other(int side, int with_control) {
    const uint64_t theirs = others[0];
    const int decoy = with_control ? next_random() % 4 : 0;
    struct registers in, out;
    int i;

    for (i = 0; i < CALLEE_SAVED; i++)
        in.saved[i] = next_random();
    /* One word differs from the other side's, in turn, then all. */
    for (i = 0; i < CONTROL_WORDS; i++) {
        if (!with_control)
            others[i] = control_default[i];
        else if (visits % (CONTROL_WORDS + 1) == i || visits % (CONTROL_WORDS + 1) == CONTROL_WORDS)
            change_control(i);
        in.control[i] = others[i];
    }
    /* A switch that compares the wrong register with a control word takes the two for equal. */
    for (i = 0; i < CALLEE_SAVED && decoy < 2; i++)
        if (with_control)
            in.saved[i] = decoy == 0 ? in.control[0] : theirs;
    visits++;
    probe_call(&in, &out, variant->swap, context[side], context[!side]);
    for (i = 0; i < CALLEE_SAVED; i++)
        if (out.saved[i] != in.saved[i])
            complain(saved_names[i], side, in.saved[i], out.saved[i]);
    for (i = 0; i < CONTROL_WORDS; i++)
        if ((out.control[i] & control_bits[i]) != in.control[i])
            complain(control_names[i], side, in.control[i], out.control[i] & control_bits[i]);
}

static void other_fiber(void *arg) {
    for (;;)
        visit_other(1, *(int *)arg);
}

static int ping_pong(const struct variant *v, int with_control) {
    const size_t size = 65536;
    int i;

    variant = v;
    context[0] = new_context(v);
    context[1] = new_context(v);
    v->set_target(context[1], new_stack(size), size, other_fiber, &with_control);
    for (i = 0; i < ROUNDS && !wrong; i++)
        visit_other(0, with_control);
    return wrong;
}

int check_registers(const struct variant *v) {
    return ping_pong(v, 0);
}

#if defined(__x86_64__)

static uint64_t flags_left; /* the exception flags with which the last switch was called */

/* Leaves side with the default control bits and random exception flags. A switch that loads mxcsr
 * only when the control bits differ brings the other side's flags along. */
static void visit_with_flags(int side) {
    struct registers in, out;
    int i;

    for (i = 0; i < CALLEE_SAVED; i++)
        in.saved[i] = next_random();
    for (i = 0; i < CONTROL_WORDS; i++)
        in.control[i] = control_default[i];
    do
        in.control[0] = control_default[0] | (next_random() & 0x3f);
    while ((in.control[0] & 0x3f) == flags_left);
    flags_left = in.control[0] & 0x3f;
    probe_call(&in, &out, variant->swap, context[side], context[!side]);
    if ((out.control[0] & 0x3f) != flags_left)
        complain("mxcsr was loaded without need: exception flags", side, flags_left,
                 out.control[0] & 0x3f);
}

static void other_with_flags(void *arg) {
    (void)arg;
    for (;;)
        visit_with_flags(1);
}

static int check_flags(const struct variant *v) {
    const size_t size = 65536;
    int i;

    v->set_target(context[1], new_stack(size), size, other_with_flags, NULL);
    for (i = 0; i < ROUNDS && !wrong; i++)
        visit_with_flags(0);
    return wrong;
}

#else

static int check_flags(const struct variant *v) {
    (void)v;
    return 0;
}

#endif

int check_control(const struct variant *v) {
    if (ping_pong(v, 1))
        return 1;
    return v->exact_flags ? check_flags(v) : 0;
}
