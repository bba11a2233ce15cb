// Package stacks examines what students write in lab 4. These are stacks with guard pages, a fiber's first frame and
// first entry, the end of its backtrace, and the report of an overflow.
//
// The examination sees each system call of a submission, and so knows each page that was mapped. It tries out whether a
// page can be touched.
//
// What to read, in this order:
//
//	labs.go      the lab and its items
//	world.go     a program under examination: how its functions are called, and what memory can be touched
//	places.go    where in the program system calls are made
//	calls.go     the system calls that a function makes, and how one is refused
//	pages.go     the pages that these calls have mapped
//	memory.go    what stack_map gives
//	guard.go     the guard page below it
//	unmap.go     what stack_unmap gives back
//	refusal.go   what cannot be had
//	entry.go     the first swap to a fiber
//	frame.go     with what stack pointer and what argument the body is entered
//	returned.go  a body that returns
//	backtrace.go the end of the backtrace, by frame pointers and by call frame information
//	cfi.go       call frame information: where it stands, what is common to several functions
//	row.go       what it says of one instruction
//	decoder.go   its numbers
//	watch.go     a program that watches for overflows
//	overflow.go  what is said of an overflow
//	fault.go     what is said of other faults
package stacks

import (
	"context"
	"embed"

	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// The functions that a submission defines, and the size of its contexts.
const (
	mapName       = "stack_map"
	unmapName     = "stack_unmap"
	watchName     = "overflow_watch"
	setTargetName = "marl_fiber_set_target"
	swapName      = "marl_fiber_swap"
	firstName     = "marl_fiber_trampoline"
	returnedName  = "marl_fiber_returned"
	sizeName      = "marl_fiber_context_size"
)

// pageName is a function of the harness that returns the size of a page.
const pageName = "lab_page_size"

//go:embed harness
var harness embed.FS

// Labs returns lab 4.
func Labs() []*grade.Lab {
	text, err := harness.ReadFile("harness/page.c")
	if err != nil {
		panic(err) // it is part of this program
	}
	l := &grade.Lab{
		Number: "04",
		Title:  "Stacks",
		Arches: []*machine.Arch{machine.AMD64, machine.ARM64},
		Needs:  []string{mapName, unmapName, watchName, setTargetName, swapName, firstName, returnedName, sizeName},
		May: []string{
			"mmap", "munmap", "mprotect", "madvise", "sysconf", "getpagesize", "getauxval", "__errno_location",
			"sigaltstack", "sigaction", "sigemptyset", "sigfillset", "sigaddset", "sigdelset", "signal", "sigprocmask",
			"pthread_sigmask", "raise", "write", "abort", "_exit", "_Exit", "memset", "memcpy", "memmove", "strlen",
			"strnlen", "strcpy", "strncpy", "stpcpy", "strcat", "strncat", "malloc", "calloc", "free",
			"__stack_chk_fail",
		},
		Calls: []string{
			"mmap", "munmap", "mprotect", "mremap", "madvise", "brk", "sigaltstack", "kill", "tkill", "getrandom",
			"write",
		},
		Handout: "handout.md",
		Sources: []string{"*.S", "*.c", "*.h"},
		Fixed:   []string{"stack.h"},
		Given:   []string{"swap/context.h", "swap/swap_amd64.S", "swap/swap_arm64.S"},
		Harness: map[string]string{"page.c": string(text)},
	}
	item := func(
		name string, points int, section string, check func(context.Context, *grade.Bench) ([]grade.Fault, error),
	) {
		l.Items = append(l.Items, grade.Item{Name: name, Points: points, Section: section, Check: check})
	}
	item("a stack has the size that was asked for", 10, "4.2", sizes)
	item("a guard page lies below it", 10, "4.3", guards)
	item("stack_unmap gives everything back, and nothing else", 10, "4.2", unmaps)
	item("sizes that cannot be had are refused", 5, "4.2", impossible)
	item("a refusal by the kernel is handed on", 5, "4.3", refusals)
	item("the first frame: in the stack, and aligned", 15, "4.4", frames)
	item("the body gets its argument", 10, "4.5", arguments)
	item("the body's frame pointers come to an end", 5, "4.6", framePointers)
	item("unwinders by call frame information come to an end", 5, "4.6", frameInformation)
	item("a body that returns ends the process", 10, "4.7", returns)
	item("an overflow is reported with the fiber's name", 9, "4.8", overflows)
	item("other faults are not called overflows", 4, "4.8", otherFaults)
	item("overflow_watch hands on a refusal", 2, "4.8", watchRefusals)
	return []*grade.Lab{l}
}
