//go:build amd64 || arm64

/* The bare switch: its difference to asm is the price of the floating-point control state. */
#include "../asm/context.h"

#define PINGPONG pingpong_asm_nofp
#define CONTEXT struct marl_fiber_context
#define SET_TARGET marl_fiber_set_target
#define SWAP marl_fiber_swap
#include "pingpong.h"
