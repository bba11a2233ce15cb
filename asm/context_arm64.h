/* The context on arm64, AAPCS64: one list of offsets for C and for assembly. All offsets are bytes.
 * Neighbours share one stp and one ldp. */
#ifndef MARL_CONTEXT_ARM64_H
#define MARL_CONTEXT_ARM64_H

/* What a switch stores and loads. */
#define MARL_REG_X19 0x00
#define MARL_REG_X20 0x08
#define MARL_REG_X21 0x10
#define MARL_REG_X22 0x18
#define MARL_REG_X23 0x20
#define MARL_REG_X24 0x28
#define MARL_REG_X25 0x30
#define MARL_REG_X26 0x38
#define MARL_REG_X27 0x40
#define MARL_REG_X28 0x48
#define MARL_REG_X29 0x50
#define MARL_REG_LR 0x58
#define MARL_REG_D8 0x60
#define MARL_REG_D9 0x68
#define MARL_REG_D10 0x70
#define MARL_REG_D11 0x78
#define MARL_REG_D12 0x80
#define MARL_REG_D13 0x88
#define MARL_REG_D14 0x90
#define MARL_REG_D15 0x98
#define MARL_REG_SP 0xa0

/* The floating-point control word, for marl_fiber_swap_fp: 32 bits, the others of the register are
 * 0. */
#define MARL_REG_FPCR 0xa8
/* The two argument registers of the first entry, read once by the trampoline: arg and target. */
#define MARL_REG_X0 0xb0
#define MARL_REG_X1 0xb8

/* FPCR at the start of a process: round to nearest, no flush to zero, no traps. */
#define MARL_FPCR_DEFAULT 0

#ifndef __ASSEMBLER__

#include <stddef.h>
#include <stdint.h>

struct marl_fiber_context {
    uint64_t x19, x20;
    uint64_t x21, x22;
    uint64_t x23, x24;
    uint64_t x25, x26;
    uint64_t x27, x28;
    uint64_t x29; /* the frame pointer */
    uint64_t lr;  /* where the switch returns to */
    uint64_t d8, d9;
    uint64_t d10, d11;
    uint64_t d12, d13;
    uint64_t d14, d15;
    uint64_t sp; /* as it is after the return from the switch */
    uint32_t fpcr;
    uint32_t suspended_by; /* an enum marl_switch, for the checks of debug builds */
    uint64_t x0, x1;
};

_Static_assert(offsetof(struct marl_fiber_context, x19) == MARL_REG_X19, "offset of x19");
_Static_assert(offsetof(struct marl_fiber_context, x20) == MARL_REG_X20, "offset of x20");
_Static_assert(offsetof(struct marl_fiber_context, x21) == MARL_REG_X21, "offset of x21");
_Static_assert(offsetof(struct marl_fiber_context, x22) == MARL_REG_X22, "offset of x22");
_Static_assert(offsetof(struct marl_fiber_context, x23) == MARL_REG_X23, "offset of x23");
_Static_assert(offsetof(struct marl_fiber_context, x24) == MARL_REG_X24, "offset of x24");
_Static_assert(offsetof(struct marl_fiber_context, x25) == MARL_REG_X25, "offset of x25");
_Static_assert(offsetof(struct marl_fiber_context, x26) == MARL_REG_X26, "offset of x26");
_Static_assert(offsetof(struct marl_fiber_context, x27) == MARL_REG_X27, "offset of x27");
_Static_assert(offsetof(struct marl_fiber_context, x28) == MARL_REG_X28, "offset of x28");
_Static_assert(offsetof(struct marl_fiber_context, x29) == MARL_REG_X29, "offset of x29");
_Static_assert(offsetof(struct marl_fiber_context, lr) == MARL_REG_LR, "offset of lr");
_Static_assert(offsetof(struct marl_fiber_context, d8) == MARL_REG_D8, "offset of d8");
_Static_assert(offsetof(struct marl_fiber_context, d9) == MARL_REG_D9, "offset of d9");
_Static_assert(offsetof(struct marl_fiber_context, d10) == MARL_REG_D10, "offset of d10");
_Static_assert(offsetof(struct marl_fiber_context, d11) == MARL_REG_D11, "offset of d11");
_Static_assert(offsetof(struct marl_fiber_context, d12) == MARL_REG_D12, "offset of d12");
_Static_assert(offsetof(struct marl_fiber_context, d13) == MARL_REG_D13, "offset of d13");
_Static_assert(offsetof(struct marl_fiber_context, d14) == MARL_REG_D14, "offset of d14");
_Static_assert(offsetof(struct marl_fiber_context, d15) == MARL_REG_D15, "offset of d15");
_Static_assert(offsetof(struct marl_fiber_context, sp) == MARL_REG_SP, "offset of sp");
_Static_assert(offsetof(struct marl_fiber_context, fpcr) == MARL_REG_FPCR, "offset of fpcr");
_Static_assert(offsetof(struct marl_fiber_context, x0) == MARL_REG_X0, "offset of x0");
_Static_assert(offsetof(struct marl_fiber_context, x1) == MARL_REG_X1, "offset of x1");

#endif
#endif
