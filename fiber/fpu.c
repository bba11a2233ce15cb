/* The floating-point environment in which a fiber begins. */
#include <fenv.h>

#include "core.h"

/* Sets the calling fiber's control words to the ABI's defaults. Compares first: the
 * load is slow, and hardly ever needed. */
void fiberlab_default_fp(void) {
#if defined(__x86_64__)
    uint32_t mxcsr;
    uint16_t x87cw;
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    __asm__ volatile("fnstcw %0" : "=m"(x87cw));
    if ((mxcsr & MARL_MXCSR_CONTROL) == (MARL_MXCSR_DEFAULT & MARL_MXCSR_CONTROL) &&
        x87cw == MARL_X87CW_DEFAULT)
        return;
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    if (fpcr == MARL_FPCR_DEFAULT)
        return;
#endif
    fesetenv(FE_DFL_ENV);
}
