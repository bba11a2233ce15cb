//go:build amd64 || arm64

/* The default switch: assembly, out of line, floating-point control state kept apart. */
#include "../asm/context.h"

#define PINGPONG pingpong_asm
#define CONTEXT struct marl_fiber_context
#define SET_TARGET marl_fiber_set_target
#define SWAP marl_fiber_swap_fp
#include "pingpong.h"
