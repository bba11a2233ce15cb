// Package swap examines what students write in labs 2 and 3: the swap on amd64 and on arm64. Lab 5 examines its
// swap by the same items.
//
// The examination knows nothing of how a submission lays out a context. It fills a context with values drawn for this
// run, lets the submission store over them, and looks where each value went. Since all values differ, the value that a
// register has in the end shows which word it was loaded from.
//
// What to read, in this order:
//
//	labs.go     the two labs
//	subject.go  what is examined, and the items
//	world.go    two fibers, their stacks and contexts; the switches that are recorded
//	follow.go   where a value went, and where it came from
//	explain.go  the sentences
//	bounds.go   what a swap may touch, and when
//	walk.go     many fibers, many switches
package swap

import (
	"fmt"
	"slices"

	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// Labs returns labs 2 and 3.
func Labs() []*grade.Lab {
	return []*grade.Lab{lab("02", 2, machine.AMD64), lab("03", 3, machine.ARM64)}
}

// most of the points are for the registers; these are the others.
const (
	pointsEntry  = 12
	pointsStack  = 10
	pointsReturn = 10
	pointsOthers = 12
	pointsWalk   = 8
)

func lab(number string, chapter int, a *machine.Arch) *grade.Lab {
	section := func(n int) string { return fmt.Sprintf("%d.%d", chapter, n) }
	subject := Subject{
		Swap: "marl_fiber_swap", Size: "marl_fiber_context_size", Prepare: "marl_fiber_set_target", Arguments: 1,
	}
	registers := 100 - pointsEntry - pointsStack - pointsReturn - pointsOthers - pointsWalk
	return &grade.Lab{
		Number:  number,
		Title:   "The swap on " + a.Name,
		Arches:  []*machine.Arch{a},
		Needs:   []string{subject.Swap, subject.Prepare, subject.Size},
		May:     []string{"memset", "memcpy", "abort", "__stack_chk_fail"},
		Handout: "handout.md",
		Sources: []string{"*.S", "*.c", "*.h"},
		Given:   []string{"context.h", "context.c", "trampoline.S"},
		Show:    subject.Show,
		Items: slices.Concat(
			[]grade.Item{subject.Entry(pointsEntry, section(5))},
			subject.Registers(a.Saved, registers, section(3)),
			[]grade.Item{
				subject.StackPointer(pointsStack, section(4)),
				subject.Arrivals(pointsReturn, section(4)),
				subject.Others(pointsOthers, section(6)),
				subject.Walk(pointsWalk, section(7)),
			}),
	}
}
