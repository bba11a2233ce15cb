/* Holds the offsets that the assembly uses against the C library's own header. Nothing of this is
 * in the program. */
#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

#if defined(__x86_64__)
#include "ucontext_amd64.h"
#define AT(field, offset) _Static_assert(offsetof(ucontext_t, field) == (offset), #field)
AT(uc_mcontext.gregs[REG_R8], UC_R8);
AT(uc_mcontext.gregs[REG_R9], UC_R9);
AT(uc_mcontext.gregs[REG_R12], UC_R12);
AT(uc_mcontext.gregs[REG_R13], UC_R13);
AT(uc_mcontext.gregs[REG_R14], UC_R14);
AT(uc_mcontext.gregs[REG_R15], UC_R15);
AT(uc_mcontext.gregs[REG_RDI], UC_RDI);
AT(uc_mcontext.gregs[REG_RSI], UC_RSI);
AT(uc_mcontext.gregs[REG_RBP], UC_RBP);
AT(uc_mcontext.gregs[REG_RBX], UC_RBX);
AT(uc_mcontext.gregs[REG_RDX], UC_RDX);
AT(uc_mcontext.gregs[REG_RCX], UC_RCX);
AT(uc_mcontext.gregs[REG_RSP], UC_RSP);
AT(uc_mcontext.gregs[REG_RIP], UC_RIP);
AT(uc_mcontext.fpregs, UC_FPREGS);
AT(__fpregs_mem, UC_X87CW);
AT(__fpregs_mem.cwd, UC_X87CW);
AT(__fpregs_mem.mxcsr, UC_MXCSR);
#elif defined(__aarch64__)
#include "ucontext_arm64.h"
#define AT(field, offset) _Static_assert(offsetof(ucontext_t, field) == (offset), #field)
/* The floating-point registers are the first record in __reserved. */
#define FP(field, offset)                                                                          \
    _Static_assert(offsetof(ucontext_t, uc_mcontext.__reserved) +                                  \
                           offsetof(struct fpsimd_context, field) ==                               \
                       (offset),                                                                   \
                   #field)
AT(uc_mcontext.regs[0], UC_X0);
AT(uc_mcontext.regs[2], UC_X2);
AT(uc_mcontext.regs[4], UC_X4);
AT(uc_mcontext.regs[6], UC_X6);
AT(uc_mcontext.regs[19], UC_X19);
AT(uc_mcontext.regs[21], UC_X21);
AT(uc_mcontext.regs[23], UC_X23);
AT(uc_mcontext.regs[25], UC_X25);
AT(uc_mcontext.regs[27], UC_X27);
AT(uc_mcontext.regs[29], UC_X29);
AT(uc_mcontext.regs[30], UC_X30);
AT(uc_mcontext.sp, UC_SP);
AT(uc_mcontext.pc, UC_PC);
FP(head.magic, UC_FPHEAD);
FP(fpcr, UC_FPCR);
FP(vregs[8], UC_V8);
FP(vregs[9], UC_V9);
FP(vregs[10], UC_V10);
FP(vregs[11], UC_V11);
FP(vregs[12], UC_V12);
FP(vregs[13], UC_V13);
FP(vregs[14], UC_V14);
FP(vregs[15], UC_V15);
#endif
