/* The context on amd64, System V ABI: one list of offsets for C and for assembly. All offsets are
 * bytes. */
#ifndef MARL_CONTEXT_AMD64_H
#define MARL_CONTEXT_AMD64_H

/* What a switch stores and loads: 64 bytes, one cache line if the context is aligned to one. */
#define MARL_REG_RBX 0x00
#define MARL_REG_RBP 0x08
#define MARL_REG_R12 0x10
#define MARL_REG_R13 0x18
#define MARL_REG_R14 0x20
#define MARL_REG_R15 0x28
#define MARL_REG_RSP 0x30
#define MARL_REG_RIP 0x38

/* The floating-point control words, for marl_fiber_swap_fp. */
#define MARL_REG_MXCSR 0x40
#define MARL_REG_X87CW 0x44
/* The two argument registers of the first entry, read once by the trampoline: arg and target. */
#define MARL_REG_RDI 0x48
#define MARL_REG_RSI 0x50

/* The bits of mxcsr that the ABI lets a function keep across a call. The others, 0 to 5, are
 * exception flags. */
#define MARL_MXCSR_CONTROL 0xffc0
/* The control words at the start of a process: all exceptions masked, round to nearest, 64-bit x87
 * mantissa. */
#define MARL_MXCSR_DEFAULT 0x1f80
#define MARL_X87CW_DEFAULT 0x037f

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
    uint64_t rsp; /* as it is after the return from the switch */
    uint64_t rip; /* where the switch returns to */
    uint32_t mxcsr;
    uint16_t x87cw;
    uint16_t suspended_by; /* an enum marl_switch, for the checks of debug builds */
    uint64_t rdi;
    uint64_t rsi;
};

_Static_assert(offsetof(struct marl_fiber_context, rbx) == MARL_REG_RBX, "offset of rbx");
_Static_assert(offsetof(struct marl_fiber_context, rbp) == MARL_REG_RBP, "offset of rbp");
_Static_assert(offsetof(struct marl_fiber_context, r12) == MARL_REG_R12, "offset of r12");
_Static_assert(offsetof(struct marl_fiber_context, r13) == MARL_REG_R13, "offset of r13");
_Static_assert(offsetof(struct marl_fiber_context, r14) == MARL_REG_R14, "offset of r14");
_Static_assert(offsetof(struct marl_fiber_context, r15) == MARL_REG_R15, "offset of r15");
_Static_assert(offsetof(struct marl_fiber_context, rsp) == MARL_REG_RSP, "offset of rsp");
_Static_assert(offsetof(struct marl_fiber_context, rip) == MARL_REG_RIP, "offset of rip");
_Static_assert(offsetof(struct marl_fiber_context, mxcsr) == MARL_REG_MXCSR, "offset of mxcsr");
_Static_assert(offsetof(struct marl_fiber_context, x87cw) == MARL_REG_X87CW, "offset of x87cw");
_Static_assert(offsetof(struct marl_fiber_context, rdi) == MARL_REG_RDI, "offset of rdi");
_Static_assert(offsetof(struct marl_fiber_context, rsi) == MARL_REG_RSI, "offset of rsi");

#endif
#endif
