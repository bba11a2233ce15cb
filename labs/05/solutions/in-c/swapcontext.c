/* A C file whose function is written in assembly, with the offsets computed by the compiler. */
#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

int lab_swapcontext(ucontext_t *from, const ucontext_t *to);

#if defined(__x86_64__)
#define OFFSET(name, field) [name] "i"(offsetof(ucontext_t, field))

/* Never called: it gives the assembly within it names for offsets. */
__attribute__((used, naked)) static void definition(void) {
    __asm__ volatile(
        ".globl lab_swapcontext\n"
        ".type lab_swapcontext, @function\n"
        "lab_swapcontext:\n"
        "movq %%rbx, %c[rbx](%%rdi)\n"
        "movq %%rbp, %c[rbp](%%rdi)\n"
        "movq %%r12, %c[r12](%%rdi)\n"
        "movq %%r13, %c[r13](%%rdi)\n"
        "movq %%r14, %c[r14](%%rdi)\n"
        "movq %%r15, %c[r15](%%rdi)\n"
        "popq %%rax\n"
        "movq %%rax, %c[rip](%%rdi)\n"
        "movq %%rsp, %c[rsp](%%rdi)\n"
        "leaq %c[cwd](%%rdi), %%rax\n"
        "movq %%rax, %c[fpregs](%%rdi)\n"
        "fnstenv %c[cwd](%%rdi)\n"
        "stmxcsr %c[mxcsr](%%rdi)\n"
        "ldmxcsr %c[mxcsr](%%rsi)\n"
        "fldcw %c[cwd](%%rsi)\n"
        "movq %c[rbx](%%rsi), %%rbx\n"
        "movq %c[rbp](%%rsi), %%rbp\n"
        "movq %c[r12](%%rsi), %%r12\n"
        "movq %c[r13](%%rsi), %%r13\n"
        "movq %c[r14](%%rsi), %%r14\n"
        "movq %c[r15](%%rsi), %%r15\n"
        "movq %c[rsp](%%rsi), %%rsp\n"
        "movq %c[rip](%%rsi), %%r10\n"
        "movq %c[rdi](%%rsi), %%rdi\n"
        "movq %c[rdx](%%rsi), %%rdx\n"
        "movq %c[rcx](%%rsi), %%rcx\n"
        "movq %c[r8](%%rsi), %%r8\n"
        "movq %c[r9](%%rsi), %%r9\n"
        "movq %c[rsi](%%rsi), %%rsi\n"
        "xorl %%eax, %%eax\n"
        "jmp *%%r10\n"
        :
        : OFFSET(rbx, uc_mcontext.gregs[REG_RBX]), OFFSET(rbp, uc_mcontext.gregs[REG_RBP]),
          OFFSET(r12, uc_mcontext.gregs[REG_R12]), OFFSET(r13, uc_mcontext.gregs[REG_R13]),
          OFFSET(r14, uc_mcontext.gregs[REG_R14]), OFFSET(r15, uc_mcontext.gregs[REG_R15]),
          OFFSET(rsp, uc_mcontext.gregs[REG_RSP]), OFFSET(rip, uc_mcontext.gregs[REG_RIP]),
          OFFSET(rdi, uc_mcontext.gregs[REG_RDI]), OFFSET(rsi, uc_mcontext.gregs[REG_RSI]),
          OFFSET(rdx, uc_mcontext.gregs[REG_RDX]), OFFSET(rcx, uc_mcontext.gregs[REG_RCX]),
          OFFSET(r8, uc_mcontext.gregs[REG_R8]), OFFSET(r9, uc_mcontext.gregs[REG_R9]),
          OFFSET(mxcsr, __fpregs_mem.mxcsr), OFFSET(cwd, __fpregs_mem.cwd),
          OFFSET(fpregs, uc_mcontext.fpregs));
}
#elif defined(__aarch64__)
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define X 184 /* of regs[0] */
#define V 480 /* of v0 */
_Static_assert(offsetof(ucontext_t, uc_mcontext.regs) == X, "regs");
_Static_assert(offsetof(ucontext_t, uc_mcontext.__reserved) +
                       offsetof(struct fpsimd_context, vregs) ==
                   V,
               "vregs");
_Static_assert(FPSIMD_MAGIC == 0x46508001, "magic");
__asm__(".set X, " TEXT(X));
__asm__(".set V, " TEXT(V));

__asm__(".text\n"
        ".globl lab_swapcontext\n"
        ".type lab_swapcontext, %function\n"
        "lab_swapcontext:\n"
        "mov x9, sp\n"
        "stp x9, x30, [x0, #(X + 248)]\n"
        "str xzr, [x0, #X]\n"
        ".irp n, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30\n"
        "str x\\n, [x0, #(X + 8 * \\n)]\n"
        "ldr x\\n, [x1, #(X + 8 * \\n)]\n"
        ".endr\n"
        ".irp n, 8, 9, 10, 11, 12, 13, 14, 15\n"
        "str d\\n, [x0, #(V + 16 * \\n)]\n"
        "ldr d\\n, [x1, #(V + 16 * \\n)]\n"
        ".endr\n"
        "ldr w9, =0x46508001\n"
        "str w9, [x0, #(V - 16)]\n"
        "mrs x9, fpcr\n"
        "str w9, [x0, #(V - 4)]\n"
        "ldr w9, [x1, #(V - 4)]\n"
        "msr fpcr, x9\n"
        "ldp x9, x16, [x1, #(X + 248)]\n"
        "mov sp, x9\n"
        ".irp n, 7, 6, 5, 4, 3, 2, 0, 1\n"
        "ldr x\\n, [x1, #(X + 8 * \\n)]\n"
        ".endr\n"
        "br x16\n"
        ".size lab_swapcontext, . - lab_swapcontext\n");
#endif
