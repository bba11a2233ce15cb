package cbody

/*
#include <fenv.h>
#include <stdint.h>

// The words that hold the rounding modes and the exception masks. The exception
// flags are left out: they belong to no fiber.
static uint64_t control_words(void) {
#if defined(__x86_64__)
	uint32_t mxcsr;
	uint16_t x87;
	__asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
	__asm__ volatile("fnstcw %0" : "=m"(x87));
	return (uint64_t)x87 << 32 | (mxcsr & 0xffc0);
#elif defined(__aarch64__)
	uint64_t fpcr;
	__asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
	return fpcr;
#else
	return (uint64_t)fegetround();
#endif
}
*/
import "C"

// RoundingMode is one of the rounding modes of fenv.h.
type RoundingMode int

// The rounding modes that amd64 and arm64 have.
const (
	ToNearest  RoundingMode = C.FE_TONEAREST
	Upward     RoundingMode = C.FE_UPWARD
	Downward   RoundingMode = C.FE_DOWNWARD
	TowardZero RoundingMode = C.FE_TOWARDZERO
)

// SetRounding sets the rounding mode of the stack that it is called on.
func SetRounding(mode RoundingMode) { C.fesetround(C.int(mode)) }

// Rounding returns that mode.
func Rounding() RoundingMode { return RoundingMode(C.fegetround()) }

// ControlWords returns the processor's floating-point control state: mxcsr and
// the x87 control word, or FPCR. It tells states apart and means nothing else.
func ControlWords() uint64 { return uint64(C.control_words()) }
