/* The functions of lab 1, and where lab_observe finds and leaves each register. Given: the grader
 * uses the same offsets, so leave them as they are. */
#ifndef CONVENTION_H
#define CONVENTION_H

/* Offsets in struct lab_registers, in bytes. */
#if defined(__x86_64__)
#define LAB_RAX 0
#define LAB_RBX 8
#define LAB_RCX 16
#define LAB_RDX 24
#define LAB_RSI 32
#define LAB_RDI 40
#define LAB_RBP 48
#define LAB_R8 56
#define LAB_R9 64
#define LAB_R10 72
#define LAB_R11 80
#define LAB_R12 88
#define LAB_R13 96
#define LAB_R14 104
#define LAB_R15 112
#elif defined(__aarch64__)
#define LAB_X0 0 /* x1 is at 8, and so on to x29 at 232 */
#define LAB_X2 16
#define LAB_X4 32
#define LAB_X6 48
#define LAB_X8 64
#define LAB_X10 80
#define LAB_X12 96
#define LAB_X14 112
#define LAB_X16 128
#define LAB_X18 144
#define LAB_X20 160
#define LAB_X22 176
#define LAB_X24 192
#define LAB_X26 208
#define LAB_X28 224
#define LAB_Q8 240 /* q9 is at 256, and so on to q15 at 352: 16 bytes each */
#define LAB_Q10 272
#define LAB_Q12 304
#define LAB_Q14 336
#else
#error "lab 1: build for amd64 or arm64"
#endif

#ifndef __ASSEMBLER__

#include <stdint.h>

/* A stranger is a function of which nothing is known. It may change every register and all memory
 * below the stack pointer. What it leaves alone is what you are to find out. */
typedef void lab_stranger_function(void);

/* Each general register but the stack pointer (and on arm64 the link register); on arm64 the vector
 * registers v8 to v15 too. */
struct lab_registers {
#if defined(__x86_64__)
    uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15;
#else
    uint64_t x[30];
    uint64_t q[8][2]; /* of v8 to v15: the low half, the high half */
#endif
};

/* Returns the address to which it returns. */
void *lab_return_address(void);

/* Returns the value that the stack pointer has just after it has returned. */
void *lab_stack_after_return(void);

/* Returns its tenth argument. */
long lab_tenth(long a1, long a2, long a3, long a4, long a5, long a6, long a7, long a8, long a9,
               long a10);

/* Calls function with each of values[0] to values[count - 1] in turn, and returns the sum of the
 * results. count is 0 or more. */
long lab_sum_over(long (*function)(long), const long *values, long count);

/* Calls function with values[0] to values[9] as its ten arguments, and returns its result. */
long lab_call_ten(long (*function)(long, long, long, long, long, long, long, long, long, long),
                  const long *values);

/* Calls stranger, which may change the 16 bytes at address, and then gives them the value that they
 * had before. address is a multiple of 16. */
void lab_keep_16(lab_stranger_function *stranger, void *address);

/* Loads all registers of struct lab_registers from *before, calls stranger, and stores in *after
 * what the registers hold then. stranger keeps the stack pointer and no other register: it may
 * break the calling convention. lab_observe keeps to it. */
void lab_observe(lab_stranger_function *stranger, const struct lab_registers *before,
                 struct lab_registers *after);

#endif
#endif
