/* The first entry: alignment, argument, frame pointer, floating-point environment; and what may not
 * get across. */
#include "prober.h"

#include <fenv.h>
#include <inttypes.h>
#include <stdio.h>

struct entry_state entry_state;

static const struct variant *variant;
static void *here, *there;

void after_entry(void *arg) {
    (void)arg;
    variant->swap(there, here);
}

/* The stack pointer at the first instruction of a function, modulo 16. */
#if defined(__x86_64__)
enum { SP_AT_ENTRY = 8 };
#else
enum { SP_AT_ENTRY = 0 };
#endif

static int enter(char *stack, size_t size) {
    void *arg = (void *)(uintptr_t)next_random();
    uint64_t top = (uint64_t)(uintptr_t)stack + size;
    int i;

    variant->set_target(there, stack, size, probe_entry, arg);
    fesetround(FE_UPWARD);
    variant->swap(here, there);
    fesetround(FE_TONEAREST);
    if (entry_state.sp % 16 != SP_AT_ENTRY)
        return printf("%s: stack pointer at entry is %#" PRIx64 ": not aligned\n", variant->name,
                      entry_state.sp),
               1;
    if (entry_state.sp > top || entry_state.sp + 512 < top)
        return printf("%s: stack pointer at entry is %#" PRIx64 ", top is %#" PRIx64 "\n",
                      variant->name, entry_state.sp, top),
               1;
    if (variant->outermost != NULL && entry_state.frame_pointer != 0)
        return printf("%s: frame pointer at entry is %#" PRIx64 ", not 0\n", variant->name,
                      entry_state.frame_pointer),
               1;
    if (entry_state.arg != (uint64_t)(uintptr_t)arg)
        return printf("%s: argument is %#" PRIx64 ", not %p\n", variant->name, entry_state.arg,
                      arg),
               1;
    for (i = 0; i < CONTROL_WORDS && variant->keeps_control; i++)
        if ((entry_state.control[i] & control_bits[i]) != control_default[i])
            return printf("%s: register %s at entry is %#" PRIx64 ", not the default\n",
                          variant->name, control_names[i], entry_state.control[i]),
                   1;
    return 0;
}

int check_entry(const struct variant *v) {
    const size_t size = 65536;
    char *stack = new_stack(size);
    size_t less;

    variant = v;
    here = new_context(v);
    there = new_context(v);
    /* Tops at every multiple of 16 over two cache lines, and addresses that are none. */
    for (less = 0; less <= 128; less++)
        if (enter(stack, size - less))
            return 1;
    return 0;
}

static volatile double one = 1, three = 3;
static double third[3]; /* a third: rounded to nearest; in the fiber; in the creator after the fiber
                           rounded upward */

static void rounding_fiber(void *arg) {
    (void)arg;
    third[1] = one / three;
    fesetround(FE_UPWARD);
    variant->swap(there, here);
}

int check_rounding(const struct variant *v) {
    const size_t size = 65536;

    variant = v;
    here = new_context(v);
    there = new_context(v);
    v->set_target(there, new_stack(size), size, rounding_fiber, NULL);
    third[0] = one / three;
    fesetround(FE_DOWNWARD);
    v->swap(here, there);
    if (fegetround() != FE_DOWNWARD)
        return printf("%s: the creator's rounding mode leaked\n", v->name), 1;
    fesetround(FE_TONEAREST);
    third[2] = one / three;
    if (third[1] != third[0] || third[2] != third[0])
        return printf("%s: 1/3 is %a in the fiber and %a elsewhere\n", v->name, third[1], third[0]),
               1;
    return 0;
}

static void returning_fiber(void *arg) {
    (void)arg;
}

int check_returned(const struct variant *v) {
    const size_t size = 65536;

    variant = v;
    here = new_context(v);
    there = new_context(v);
    v->set_target(there, new_stack(size), size, returning_fiber, NULL);
    v->swap(here, there);
    return printf("%s: a body that returned came back to its creator\n", v->name), 1;
}
