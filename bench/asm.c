//go:build amd64 || arm64

/* The switches in assembly of this project. */
#include "../asm/context.h"
#include "../asm/inline.h"

#define CONTEXT struct marl_fiber_context
#define SET_TARGET marl_fiber_set_target

/* The default switch: out of line, floating-point control state kept apart. */
#define PINGPONG pingpong_asm
#define SWAP marl_fiber_swap_fp
#include "pingpong.h"

/* The bare switch: its difference to asm is the price of the floating-point control state. */
#define PINGPONG pingpong_asm_nofp
#define SWAP marl_fiber_swap
#include "pingpong.h"

/* The bare switch as an inline function: no call, and a jump instead of a return. */
#define PINGPONG pingpong_asm_inline
#define SWAP marl_fiber_swap_inline
#include "pingpong.h"
