//go:build amd64 || arm64

// Package asm switches between stacks, in hand-written assembly.
//
// It has no Go face: its symbols are C. A package that switches imports it for the link and includes its headers in its
// own cgo preamble:
//
//	import _ "fiberlab/asm"
//	// #include "../asm/context.h"
//
// What to read, in this order:
//
//	context.h         what a switch is, and the contract of every function
//	context_amd64.h   the layout of a context, for C and for assembly
//	context_arm64.h
//	swap_amd64.S      the switch itself and the first entry, with drawings of the stack
//	swap_arm64.S
//	context.c         how a fresh fiber's context is filled, and where a body that returns ends
//	inline.h          the switch for C callers, without a call
//	check.h           what may resume what, and how debug builds check it
//	check.c
//
// The tests compile the C programs in testdata with these very files and run them. The checks of the switch come first:
// if one fails, it says in a few lines what is wrong, and no other test runs. make test-switch runs only these checks.
// The tests also delete each save and each load of the assembly and of the inline switch in turn, and count the faulty
// switches that the checks catch.
package asm

/*
#cgo CFLAGS: -O2 -Wall -Wextra
#include "context.h"
*/
import "C"

import _ "fiberlab/internal/platform"
