/* The context of a fiber and the functions that switch, as in lab 2 (amd64) and lab 3 (arm64).
 * Given in labs 4, 6 and 9. All offsets are bytes. */
#ifndef LAB_CONTEXT_H
#define LAB_CONTEXT_H

#if defined(__x86_64__)

#define REG_RBX 0x00
#define REG_RBP 0x08
#define REG_R12 0x10
#define REG_R13 0x18
#define REG_R14 0x20
#define REG_R15 0x28
#define REG_RSP 0x30
#define REG_RIP 0x38

#elif defined(__aarch64__)

#define REG_X19 0x00
#define REG_X21 0x10
#define REG_X23 0x20
#define REG_X25 0x30
#define REG_X27 0x40
#define REG_X29 0x50
#define REG_D8 0x60
#define REG_D10 0x70
#define REG_D12 0x80
#define REG_D14 0x90
#define REG_SP 0xa0

#else
#error "a context is for amd64 or for arm64"
#endif

#ifndef __ASSEMBLER__

#include <stddef.h>
#include <stdint.h>

struct marl_fiber_context {
#if defined(__x86_64__)
    uint64_t rbx;
    uint64_t rbp;
    uint64_t r12, r13, r14, r15;
    uint64_t rsp; /* as it is after the return from the swap */
    uint64_t rip; /* where the swap returns to */
#elif defined(__aarch64__)
    uint64_t x19, x20, x21, x22, x23, x24, x25, x26, x27, x28;
    uint64_t x29; /* the frame pointer */
    uint64_t x30; /* where the swap returns to */
    uint64_t d8, d9, d10, d11, d12, d13, d14, d15;
    uint64_t sp;
#endif
};

/* The number of bytes of a context. */
extern const size_t marl_fiber_context_size;

/* Prepares ctx so that the first swap to it calls target(arg) on the stack [stack, stack + size).
 * stack is the lowest address, size is in bytes; neither need be a multiple of anything. No byte
 * outside of the stack and the context is written. */
void marl_fiber_set_target(struct marl_fiber_context *ctx, void *stack, size_t size,
                           void (*target)(void *), void *arg);

/* Suspends the caller in from and resumes what is suspended in to. */
void marl_fiber_swap(struct marl_fiber_context *from, const struct marl_fiber_context *to);

/* Where a fresh fiber begins. Only a swap may enter it. */
void marl_fiber_trampoline(void);

/* Where a target that returned ends: writes one line to standard error and aborts the process. */
__attribute__((noreturn)) void marl_fiber_returned(void);

#endif
#endif
