/* Lab 1 in C, with assembly only where C has no word for it. The compiler knows the convention. */
#include "convention.h"

#include <string.h>

/* The compiler adds nothing to a naked function. */
#if defined(__x86_64__)
__attribute__((naked)) void *lab_stack_after_return(void) {
    __asm__("lea 8(%rsp), %rax\n ret");
}
#else
__asm__(".globl lab_stack_after_return\n"
        ".type lab_stack_after_return, %function\n"
        "lab_stack_after_return:\n"
        " mov x0, sp\n"
        " ret\n"
        ".size lab_stack_after_return, . - lab_stack_after_return\n");
#endif

void *lab_return_address(void) {
    return __builtin_return_address(0);
}

long lab_tenth(long a1, long a2, long a3, long a4, long a5, long a6, long a7, long a8, long a9,
               long a10) {
    (void)a1, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8, (void)a9;
    return a10;
}

long lab_sum_over(long (*function)(long), const long *values, long count) {
    unsigned long sum = 0;
    for (long i = 0; i < count; i++) {
        sum += (unsigned long)function(values[i]);
    }
    return (long)sum;
}

long lab_call_ten(long (*function)(long, long, long, long, long, long, long, long, long, long),
                  const long *v) {
    return function(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9]);
}

void lab_keep_16(lab_stranger_function *stranger, void *address) {
    unsigned char bytes[16];
    memcpy(bytes, address, sizeof bytes);
    stranger();
    memcpy(address, bytes, sizeof bytes);
}

/* The compiler saves the registers that a call keeps, since the assembly says that it changes them.
 * It cannot say so of rbp (on arm64 x29), which is saved here. The stack holds what is needed after
 * the call. */
#if defined(__x86_64__)
void lab_observe(lab_stranger_function *stranger, const struct lab_registers *before,
                 struct lab_registers *after) {
    __asm__ volatile("sub $128, %%rsp\n" /* past what the compiler may have below rsp */
                     "push %%rbp\n"
                     "mov %%rsp, %%rbp\n"
                     "and $-16, %%rsp\n"
                     "push %%rbp\n"
                     "push %%rdx\n"
                     "push %%rdi\n"
                     "push %%rax\n" /* padding, and a place for rax later */
                     "mov 0(%%rsi), %%rax\n mov 8(%%rsi), %%rbx\n mov 16(%%rsi), %%rcx\n"
                     "mov 24(%%rsi), %%rdx\n mov 40(%%rsi), %%rdi\n mov 48(%%rsi), %%rbp\n"
                     "mov 56(%%rsi), %%r8\n mov 64(%%rsi), %%r9\n mov 72(%%rsi), %%r10\n"
                     "mov 80(%%rsi), %%r11\n mov 88(%%rsi), %%r12\n mov 96(%%rsi), %%r13\n"
                     "mov 104(%%rsi), %%r14\n mov 112(%%rsi), %%r15\n mov 32(%%rsi), %%rsi\n"
                     "call *8(%%rsp)\n"
                     "mov %%rax, 0(%%rsp)\n"
                     "mov 16(%%rsp), %%rax\n"
                     "mov %%rbx, 8(%%rax)\n mov %%rcx, 16(%%rax)\n mov %%rdx, 24(%%rax)\n"
                     "mov %%rsi, 32(%%rax)\n mov %%rdi, 40(%%rax)\n mov %%rbp, 48(%%rax)\n"
                     "mov %%r8, 56(%%rax)\n mov %%r9, 64(%%rax)\n mov %%r10, 72(%%rax)\n"
                     "mov %%r11, 80(%%rax)\n mov %%r12, 88(%%rax)\n mov %%r13, 96(%%rax)\n"
                     "mov %%r14, 104(%%rax)\n mov %%r15, 112(%%rax)\n"
                     "pop %%rcx\n"
                     "mov %%rcx, 0(%%rax)\n"
                     "mov 16(%%rsp), %%rsp\n"
                     "pop %%rbp\n"
                     "add $128, %%rsp\n"
                     : "+D"(stranger), "+S"(before), "+d"(after)
                     :
                     : "rax", "rbx", "rcx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
                       "cc", "memory");
}
#else
void lab_observe(lab_stranger_function *stranger, const struct lab_registers *before,
                 struct lab_registers *after) {
    register lab_stranger_function *x0 __asm__("x0") = stranger;
    register const struct lab_registers *x1 __asm__("x1") = before;
    register struct lab_registers *x2 __asm__("x2") = after;
    __asm__ volatile("stp x29, x18, [sp, #-32]!\n"
                     "stp x0, x2, [sp, #16]\n"
                     "mov x30, x1\n"
                     "add x18, x30, #240\n"
                     "ld1 {v8.2d-v11.2d}, [x18], #64\n"
                     "ld1 {v12.2d-v15.2d}, [x18]\n"
                     "ldp x0, x1, [x30], #16\n ldp x2, x3, [x30], #16\n ldp x4, x5, [x30], #16\n"
                     "ldp x6, x7, [x30], #16\n ldp x8, x9, [x30], #16\n"
                     "ldp x10, x11, [x30], #16\n ldp x12, x13, [x30], #16\n"
                     "ldp x14, x15, [x30], #16\n ldp x16, x17, [x30], #16\n"
                     "ldp x18, x19, [x30], #16\n ldp x20, x21, [x30], #16\n"
                     "ldp x22, x23, [x30], #16\n ldp x24, x25, [x30], #16\n"
                     "ldp x26, x27, [x30], #16\n ldp x28, x29, [x30]\n"
                     "ldr x30, [sp, #16]\n"
                     "blr x30\n"
                     "ldr x30, [sp, #24]\n"
                     "stp x0, x1, [x30], #16\n stp x2, x3, [x30], #16\n stp x4, x5, [x30], #16\n"
                     "stp x6, x7, [x30], #16\n stp x8, x9, [x30], #16\n"
                     "stp x10, x11, [x30], #16\n stp x12, x13, [x30], #16\n"
                     "stp x14, x15, [x30], #16\n stp x16, x17, [x30], #16\n"
                     "stp x18, x19, [x30], #16\n stp x20, x21, [x30], #16\n"
                     "stp x22, x23, [x30], #16\n stp x24, x25, [x30], #16\n"
                     "stp x26, x27, [x30], #16\n stp x28, x29, [x30], #16\n"
                     "st1 {v8.2d-v11.2d}, [x30], #64\n"
                     "st1 {v12.2d-v15.2d}, [x30]\n"
                     "ldp x29, x18, [sp], #32\n"
                     : "+r"(x0), "+r"(x1), "+r"(x2)
                     :
                     : "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14",
                       "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25",
                       "x26", "x27", "x28", "x30", "v8", "v9", "v10", "v11", "v12", "v13", "v14",
                       "v15", "cc", "memory");
}
#endif
