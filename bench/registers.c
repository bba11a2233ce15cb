//go:build amd64 || arm64

/* The inline switch, and the same with one group of registers stored before it and loaded after it,
 * on the stack of the side that leaves. The compiler saves the other registers that it uses, once
 * in a function. */
#include "registers.h"

#include "../asm/context.h"
#include "../asm/inline.h"

struct kept {
    uint64_t words[10];
};

/* The last arguments are what load changes. */
#define WITH(from, to, store, load, ...)                                                           \
    do {                                                                                           \
        struct kept kept;                                                                          \
        uint64_t word;                                                                             \
        __asm__ volatile(store : "=m"(kept), [word] "=&r"(word) : [at] "r"(&kept));                \
        marl_fiber_swap_inline(from, to);                                                          \
        __asm__ volatile(load : [word] "=&r"(word) : [at] "r"(&kept), "m"(kept) : __VA_ARGS__);    \
    } while (0)

#define CONTEXT struct marl_fiber_context
#define SET_TARGET marl_fiber_set_target

#define PINGPONG registers_none
#define SWAP marl_fiber_swap_inline
#include "pingpong.h"

#if defined(__x86_64__)

#define PINGPONG registers_integers
#define SWAP(from, to)                                                                             \
    WITH(from, to,                                                                                 \
         "movq %%rbx, (%[at]); movq %%r12, 8(%[at]); movq %%r13, 16(%[at]); "                      \
         "movq %%r14, 24(%[at]); movq %%r15, 32(%[at])",                                           \
         "movq (%[at]), %%rbx; movq 8(%[at]), %%r12; movq 16(%[at]), %%r13; "                      \
         "movq 24(%[at]), %%r14; movq 32(%[at]), %%r15",                                           \
         "rbx", "r12", "r13", "r14", "r15")
#include "pingpong.h"

#define PINGPONG registers_mxcsr
#define SWAP(from, to) WITH(from, to, "stmxcsr (%[at])", "ldmxcsr (%[at])", "memory")
#include "pingpong.h"

#define PINGPONG registers_x87
#define SWAP(from, to) WITH(from, to, "fnstcw (%[at])", "fldcw (%[at])", "memory")
#include "pingpong.h"

const struct registers register_groups[REGISTER_GROUPS] = {
    {"none", "the stack, the frame and the place to go on alone", registers_none},
    {"integers", "rbx and r12 to r15 as well", registers_integers},
    {"mxcsr", "the control word of SSE as well", registers_mxcsr},
    {"x87", "the control word of the x87 as well", registers_x87},
};

#else

#define PINGPONG registers_integers
#define SWAP(from, to)                                                                             \
    WITH(from, to,                                                                                 \
         "stp x19, x20, [%[at]]; stp x21, x22, [%[at], 16]; stp x23, x24, [%[at], 32]; "           \
         "stp x25, x26, [%[at], 48]; stp x27, x28, [%[at], 64]",                                   \
         "ldp x19, x20, [%[at]]; ldp x21, x22, [%[at], 16]; ldp x23, x24, [%[at], 32]; "           \
         "ldp x25, x26, [%[at], 48]; ldp x27, x28, [%[at], 64]",                                   \
         "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28")
#include "pingpong.h"

#define PINGPONG registers_vectors
#define SWAP(from, to)                                                                             \
    WITH(from, to,                                                                                 \
         "stp d8, d9, [%[at]]; stp d10, d11, [%[at], 16]; stp d12, d13, [%[at], 32]; "             \
         "stp d14, d15, [%[at], 48]",                                                              \
         "ldp d8, d9, [%[at]]; ldp d10, d11, [%[at], 16]; ldp d12, d13, [%[at], 32]; "             \
         "ldp d14, d15, [%[at], 48]",                                                              \
         "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15")
#include "pingpong.h"

#define PINGPONG registers_fpcr
#define SWAP(from, to)                                                                             \
    WITH(from, to, "mrs %[word], fpcr; str %[word], [%[at]]",                                      \
         "ldr %[word], [%[at]]; msr fpcr, %[word]", "memory")
#include "pingpong.h"

const struct registers register_groups[REGISTER_GROUPS] = {
    {"none", "the stack, the frame and the place to go on alone", registers_none},
    {"integers", "x19 to x28 as well", registers_integers},
    {"vectors", "d8 to d15 as well", registers_vectors},
    {"fpcr", "the control word of floating point as well", registers_fpcr},
};

#endif
