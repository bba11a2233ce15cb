/* The context of a fiber on amd64: the values that it needs to resume. The same list of offsets
 * serves C and assembly. All offsets are bytes. */
#ifndef CONTEXT_H
#define CONTEXT_H

#define REG_RBX 0x00
#define REG_RBP 0x08
#define REG_R12 0x10
#define REG_R13 0x18
#define REG_R14 0x20
#define REG_R15 0x28
#define REG_RSP 0x30
#define REG_RIP 0x38

#ifndef __ASSEMBLER__

#include <stddef.h>
#include <stdint.h>

struct marl_fiber_context {
    uint64_t rbx;
    uint64_t rbp;
    uint64_t r12;
    uint64_t r13;
    uint64_t r14;
    uint64_t r15;
    uint64_t rsp; /* as it is after the return from the swap */
    uint64_t rip; /* where the swap returns to */
};

_Static_assert(offsetof(struct marl_fiber_context, rbx) == REG_RBX, "offset of rbx");
_Static_assert(offsetof(struct marl_fiber_context, rip) == REG_RIP, "offset of rip");

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
