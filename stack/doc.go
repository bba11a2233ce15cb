// Package stack provides the memory that fibers run on: stacks with a guard
// page below them, cut from large mappings and kept in a pool.
//
// A slab is one mapping that holds many stacks of the same size, side by side:
//
//	slab.mem                                             slab.mem + slab.length
//	|guard| usable bytes of stack 0 |guard| usable bytes of stack 1 |  ...  |
//	      ^                     ^   ^
//	      Lo                  Top   Hi          a stack grows from Top to Lo
//
// Mapping a slab reserves addresses only. A stack takes memory page by page as
// it is touched, and its guard is made when the stack is first handed out.
//
// A function whose frame is larger than the guard (one page, unless Options.GuardPages says more) may step
// over it without touching it; C code compiled with -fstack-clash-protection cannot.
package stack

import _ "fiberlab/internal/platform"
