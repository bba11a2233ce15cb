/* The context of a fiber on arm64: the values that it needs to resume. The same list of offsets
 * serves C and assembly. All offsets are bytes. */
#ifndef CONTEXT_H
#define CONTEXT_H

#define REG_X19 0x00
#define REG_X21 0x10
#define REG_X23 0x20
#define REG_X25 0x30
#define REG_X27 0x40
#define REG_X29 0x50 /* the frame pointer */
#define REG_X30 0x58 /* the link register: where the swap returns to */
#define REG_D8 0x60
#define REG_D10 0x70
#define REG_D12 0x80
#define REG_D14 0x90
#define REG_SP 0xa0

#ifndef __ASSEMBLER__

#include <stddef.h>
#include <stdint.h>

struct marl_fiber_context {
    uint64_t x19_x28[10]; /* x19 first */
    uint64_t x29;
    uint64_t x30;
    uint64_t d8_d15[8]; /* the low halves of v8 to v15 */
    uint64_t sp;
};

_Static_assert(offsetof(struct marl_fiber_context, x29) == REG_X29, "offset of x29");
_Static_assert(offsetof(struct marl_fiber_context, x30) == REG_X30, "offset of x30");
_Static_assert(offsetof(struct marl_fiber_context, d8_d15) == REG_D8, "offset of d8");
_Static_assert(offsetof(struct marl_fiber_context, sp) == REG_SP, "offset of sp");

/* The size of a context in bytes, for programs that were compiled without this header. */
extern const size_t marl_fiber_context_size;

/* Prepares ctx so that the first swap to it calls target(arg) on the stack [stack, stack + size).
 * target must not return. */
void marl_fiber_set_target(struct marl_fiber_context *ctx, void *stack, size_t size,
                           void (*target)(void *), void *arg);

/* Suspends the caller in from, and resumes what is suspended in to. Returns when a swap to from is
 * made. */
void marl_fiber_swap(struct marl_fiber_context *from, const struct marl_fiber_context *to);

/* Where a fresh fiber begins (trampoline.S). Only a swap enters it. */
void marl_fiber_trampoline(void);

#endif
#endif
