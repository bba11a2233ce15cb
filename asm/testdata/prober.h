/* The prober: a program that looks at a switch from both sides and says by name what it does wrong.
 *
 *     prober VARIANT CHECK SEED
 *
 * It prints what failed on standard output and exits with 1, or exits with 0. A switch that is
 * broken badly enough ends it by a signal. Where it was built to have branch targets checked but
 * the processor cannot, it exits with SKIPPED. */
#ifndef PROBER_H
#define PROBER_H

#ifndef __ASSEMBLER__

enum { SKIPPED = 77 };

#include <stddef.h>
#include <stdint.h>

/* One way of switching. from and to point to context_size bytes. */
struct variant {
    const char *name;
    size_t context_size;
    int keeps_control; /* whether the floating-point control state is each fiber's own */
    int exact_flags;   /* whether an unneeded load of mxcsr is an error: it shows in the exception
                          flags */
    int inlined;       /* whether check_locals should use marl_fiber_swap_inline in place of swap */
    void (*set_target)(void *ctx, void *stack, size_t size, void (*target)(void *), void *arg);
    void (*swap)(void *from, const void *to);
    /* The function that calls target and has no caller, and a bound of its size in bytes. NULL if
     * that is a matter of the C library. */
    const void *outermost;
    size_t outermost_size;
};

/* Ends with a variant whose name is NULL. Defined beside the switch that is probed. */
extern const struct variant variants[];

/* The checks. Each returns 0, or prints what is wrong and returns 1. */
int check_registers(const struct variant *v);
int check_control(const struct variant *v);
int check_entry(const struct variant *v);
int check_rounding(const struct variant *v);
int check_locals(const struct variant *v);
int check_backtrace(const struct variant *v);
int check_frames(const struct variant *v);
int check_returned(const struct variant *v);

/* Memory for the contexts of this program, aligned as malloc would, and a stack. */
void *new_context(const struct variant *v);
void *new_stack(size_t size);
/* Pseudo-random, from the seed on the command line. */
uint64_t next_random(void);

#endif

/* What probe_call fills registers from and reads them into: one 8-byte slot each. */
#if defined(__x86_64__)
#define CALLEE_SAVED 6
#define CONTROL_WORDS 2
#elif defined(__aarch64__)
#define CALLEE_SAVED 19
#define CONTROL_WORDS 1
#endif

#ifndef __ASSEMBLER__

struct registers {
    uint64_t saved[CALLEE_SAVED];
    uint64_t control[CONTROL_WORDS];
};

extern const char *const saved_names[CALLEE_SAVED];
extern const char *const control_names[CONTROL_WORDS];
/* The bits of a control word that a call preserves, its value in the ABI's default environment, and
 * a valid random value of those bits. */
extern const uint64_t control_bits[CONTROL_WORDS];
extern const uint64_t control_default[CONTROL_WORDS];
uint64_t random_control(int word);

/* Fills the registers from in, calls swap(from, to), reads the registers into out and restores its
 * caller's. The registers that swap uses as scratch hold ones at the call, and the condition flags
 * say equal. */
void probe_call(const struct registers *in, struct registers *out,
                void (*swap)(void *, const void *), void *from, const void *to);

/* What a fiber finds at its first instruction. */
struct entry_state {
    uint64_t sp;
    uint64_t frame_pointer;
    uint64_t arg;
    uint64_t control[CONTROL_WORDS];
};

/* A target: records the state in entry_state, then goes on as after_entry(arg). */
void probe_entry(void *arg);
extern struct entry_state entry_state;
void after_entry(void *arg);

#endif
#endif
