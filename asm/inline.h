/* The bare switch without a call, for C callers: marl_fiber_swap_inline(from, to).
 *
 * It cannot be mixed with the other switches. Only it may resume a fiber that it has suspended, and
 * it must not resume a fiber that marl_fiber_swap or marl_fiber_swap_fp has suspended. Any of them
 * may enter a fresh fiber. Debug builds check this (check.h). The rest of its contract is the same
 * as for marl_fiber_swap.
 *
 * All callee-saved registers survive. The stack pointer, the frame pointer and the resume address
 * are stored in the context; the slots of the others are not used. The other registers are
 * clobbers, so the compiler saves those that it uses, once in a function instead of once a switch.
 * This saves time against marl_fiber_swap, and is why the two cannot be mixed.
 *
 * A compiler may keep the address of a thread-local variable across the switch. A function whose
 * fiber can come back on another thread must not touch thread-local variables (errno is one) on
 * both sides of it. */
#ifndef MARL_INLINE_H
#define MARL_INLINE_H

#include "context.h"

/* In a function whose frame has no fixed size, clang keeps a second frame pointer, the base
 * pointer. This is rbx or x19, which clang does not save when it is clobbered. gcc saves all that
 * it uses. At the resume address, the register of `to` holds the context that was resumed. */
#ifdef __clang__
#define MARL_BASE_POINTER(move) move
#define MARL_CLOBBER_BASE_POINTER(reg)
#else
#define MARL_BASE_POINTER(move)
#define MARL_CLOBBER_BASE_POINTER(reg) , reg
#endif

#if defined(__x86_64__)

#ifdef __AVX512F__
#define MARL_CLOBBER_AVX512                                                                        \
    , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",    \
        "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5",  \
        "k6", "k7"
#else
#define MARL_CLOBBER_AVX512
#endif

/* `to` must be in rsi: the trampoline looks for it there. Nothing is pushed, because the caller may
 * have variables below rsp. The alignment, never executed, lets the resumed side start with a full
 * fetch. */
static inline __attribute__((always_inline)) void
marl_fiber_swap_inline(struct marl_fiber_context *from, const struct marl_fiber_context *to) {
    MARL_CHECK(from, to, MARL_BY_SWAP_INLINE);
    __asm__ volatile(
        /* clang-format off */
        "leaq    1f(%%rip), %%rcx\n\t"
        MARL_BASE_POINTER("movq    %%rbx, %c[rbx](%[from])\n\t")
        "movq    %%rbp, %c[rbp](%[from])\n\t"
        "movq    %%rsp, %c[rsp](%[from])\n\t"
        "movq    %%rcx, %c[rip](%[from])\n\t"
        "movq    %c[rbp](%[to]), %%rbp\n\t"
        "movq    %c[rsp](%[to]), %%rsp\n\t"
        "notrack jmp *%c[rip](%[to])\n\t"
        ".p2align 6\n"
        "1:\n\t"
        MARL_BASE_POINTER("movq    %c[rbx](%[to]), %%rbx\n\t")
        /* clang-format on */
        : [from] "+D"(from), [to] "+S"(to)
        : [rbx] "i"(MARL_REG_RBX), [rbp] "i"(MARL_REG_RBP), [rsp] "i"(MARL_REG_RSP),
          [rip] "i"(MARL_REG_RIP)
        : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc",
          "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
          "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "st", "st(1)", "st(2)", "st(3)", "st(4)",
          "st(5)", "st(6)", "st(7)", "mm0", "mm1", "mm2", "mm3", "mm4", "mm5", "mm6",
          "mm7" MARL_CLOBBER_BASE_POINTER("rbx") MARL_CLOBBER_AVX512);
}

#elif defined(__aarch64__)

#ifdef __ARM_FEATURE_SVE
#define MARL_CLOBBER_SVE                                                                           \
    , "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13",      \
        "p14", "p15"
#else
#define MARL_CLOBBER_SVE
#endif

/* As in swap_arm64.S: where branch targets are enforced, what `to` resumes at may be no landing
 * pad; ret needs none. */
#ifdef __ARM_FEATURE_BTI_DEFAULT
#define MARL_RESUME "ret"
#else
#define MARL_RESUME "br"
#endif

/* `to` must be in x1: the trampoline looks for it there. */
static inline __attribute__((always_inline)) void
marl_fiber_swap_inline(struct marl_fiber_context *from, const struct marl_fiber_context *to) {
    MARL_CHECK(from, to, MARL_BY_SWAP_INLINE);
    register struct marl_fiber_context *x0 __asm__("x0") = from;
    register const struct marl_fiber_context *x1 __asm__("x1") = to;

    __asm__ volatile(
        /* clang-format off */
        "adr     x30, 1f\n\t"
        "mov     x9, sp\n\t"
        MARL_BASE_POINTER("str     x19, [%[from], %c[x19]]\n\t")
        "stp     x29, x30, [%[from], %c[x29]]\n\t"
        "str     x9, [%[from], %c[sp]]\n\t"
        "ldr     x9, [%[to], %c[sp]]\n\t"
        "ldp     x29, x30, [%[to], %c[x29]]\n\t"
        "mov     sp, x9\n\t"
        MARL_RESUME "      x30\n"
        "1:\n\t"
        MARL_BASE_POINTER("ldr     x19, [%[to], %c[x19]]\n\t")
        /* clang-format on */
        : [from] "+r"(x0), [to] "+r"(x1)
        : [x19] "i"(MARL_REG_X19), [x29] "i"(MARL_REG_X29), [sp] "i"(MARL_REG_SP)
        : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
          "x16", "x17", "x18", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30",
          "memory", "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11",
          "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24",
          "v25", "v26", "v27", "v28", "v29", "v30",
          "v31" MARL_CLOBBER_BASE_POINTER("x19") MARL_CLOBBER_SVE);
}

#endif
#endif
