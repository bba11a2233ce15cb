//go:build amd64 || arm64

/* The switch as an inline function: no call, and a jump instead of a return. */
#include "../asm/context.h"
#include "../asm/inline.h"

#define PINGPONG pingpong_asm_inline
#define CONTEXT struct marl_fiber_context
#define SET_TARGET marl_fiber_set_target
#define SWAP marl_fiber_swap_inline
#include "pingpong.h"
