/* The C library's swapcontext: a system call a switch for the signal mask, on arm64 two. */
#include "../cgo_ucontext/context.h"

#define PINGPONG pingpong_ucontext
#define CONTEXT struct ucontext_fiber_context
#define SET_TARGET ucontext_fiber_set_target
#define SWAP ucontext_fiber_swap
#include "pingpong.h"
