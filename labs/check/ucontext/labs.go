// Package ucontext examines what students write in lab 5: a swapcontext that makes no system call, and the number of
// the calls that the C library's makes.
//
// What to read, in this order:
//
//	labs.go     the lab and its items, most of which are those of package swap
//	library.go  what the library reads of what the submission has saved, and the other way round
//	answers.go  the count
package ucontext

import (
	"context"
	"embed"
	"slices"

	"fiberlab/labs/check/swap"
	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
	"fiberlab/labs/record"
)

//go:embed harness
var harness embed.FS

// Labs returns lab 5.
func Labs() []*grade.Lab {
	text, err := harness.ReadFile("harness/ucontext.c")
	if err != nil {
		panic(err) // it is part of this program
	}
	return []*grade.Lab{{
		Number:  "05",
		Title:   "ucontext and its price",
		Arches:  []*machine.Arch{machine.AMD64, machine.ARM64},
		Needs:   []string{swapName},
		May:     []string{"memset", "memcpy", "abort", "__stack_chk_fail"},
		Handout: "handout.md",
		Sources: []string{"*.S", "*.c", "*.h", answersFile},
		Beside:  []string{"price.c", "count.c"},
		Given:   []string{"check.c", "ucontext_amd64.h", "ucontext_arm64.h"},
		Harness: map[string]string{"ucontext.c": string(text)},
		ByArch: map[string][]grade.Item{
			machine.AMD64.Name: items(machine.AMD64),
			machine.ARM64.Name: items(machine.ARM64),
		},
		Show: func(ctx context.Context, b *grade.Bench) ([]*record.Recording, error) {
			return subject(b.Program.Arch).Show(ctx, b)
		},
	}}
}

const swapName = "lab_swapcontext"

// subject is what is examined on an architecture.
func subject(a *machine.Arch) swap.Subject {
	s := swap.Subject{
		Swap: swapName, Size: sizeName, Prepare: prepareName, Arguments: len(a.Arguments), Returns: true,
		Control: []string{"fpcr"}, Library: []string{libraryName, "swapcontext", "setcontext", "getcontext"},
	}
	if a == machine.AMD64 {
		s.Control = []string{"mxcsr", "x87cw"}
	}
	return s
}

func items(a *machine.Arch) []grade.Item {
	s := subject(a)
	return slices.Concat(
		[]grade.Item{
			s.NoSystemCalls(12, "5.3"),
			s.Entry(10, "5.5"),
		},
		s.Registers(a.Saved, 24, "5.4"),
		[]grade.Item{
			s.StackPointer(8, "5.4"),
			s.Arrivals(8, "5.4"),
			s.ControlWords(6, "5.6"),
			s.Others(4, "5.4"),
			s.Walk(6, "5.7"),
			{Name: "uc_link goes on when a function returns", Points: 8, Section: "5.8", Check: follows},
			{Name: "a context of getcontext is resumed", Points: 4, Section: "5.8", Check: resumes},
			{Name: "the system calls of swapcontext are counted", Points: 10, Section: "5.2", Check: answers},
		})
}
