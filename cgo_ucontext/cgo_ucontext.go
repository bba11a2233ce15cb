// Package cgo_ucontext keeps the contract of package asm with the C library's own makecontext and
// swapcontext.
//
// It has no Go face: its symbols are C. A package that switches imports it for the link and
// includes the header in its own cgo preamble:
//
//	import _ "fiberlab/cgo_ucontext"
//	// #include "../cgo_ucontext/context.h"
//
// context.h is the contract, context.c the whole of it. Read it beside asm/context.h and one of
// asm/swap_*.S: what the C library does more than those is the difference in the cost table.
package cgo_ucontext

/*
#cgo CFLAGS: -O2 -Wall -Wextra
#cgo LDFLAGS: -lm
#include "context.h"
*/
import "C"
