// Package conventions examines lab 1: functions in assembly that find out which registers survive a call, and that keep
// to the calling convention themselves.
//
// What to read, in this order:
//
//	visit.go        one call of a function, in which the grader plays the strangers that it calls
//	functions.go    what each function is called with, and what it should do
//	judge.go        what went wrong, and which of the strangers' changes made it go wrong
//	trail.go        where a value came from
//	answers.go      the table of answers
//	conventions.go  the items
package conventions

import (
	"context"
	"errors"
	"fmt"
	"slices"

	_ "fiberlab/internal/platform/system" // ends a build for another system with one line
	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// Labs returns lab 1.
func Labs() []*grade.Lab {
	return []*grade.Lab{{
		Number: "01", Title: "Calling conventions", Arches: []*machine.Arch{machine.AMD64, machine.ARM64},
		Needs: []string{
			"lab_return_address", "lab_stack_after_return", "lab_tenth", "lab_sum_over", "lab_call_ten", "lab_keep_16",
			"lab_observe",
		},
		Handout: "handout.md",
		Sources: []string{"convention*.S", "convention*.c", "*.h", "answers_*.txt"},
		Fixed:   []string{"convention.h"},
		Items: []grade.Item{
			{
				Name: "lab_return_address finds the return address", Points: 7, Section: "1.2",
				Check: right(returnAddress, returnAddressRight),
			},
			{
				Name: "lab_stack_after_return knows what a return does to the stack pointer", Points: 8, Section: "1.2",
				Check: right(stackAfter, stackAfterRight),
			},
			{
				Name: "lab_tenth finds an argument on the stack", Points: 10, Section: "1.3",
				Check: right(tenth, tenthRight),
			},
			{Name: "lab_sum_over calls and sums", Points: 10, Section: "1.4", Check: sums},
			{Name: "lab_sum_over keeps its values across calls", Points: 15, Section: "1.4", Check: sumsAcross},
			{
				Name: "lab_call_ten hands over ten arguments", Points: 10, Section: "1.5",
				Check: right(callTen, tenRight),
			},
			{
				Name: "lab_keep_16 keeps 16 bytes across a call", Points: 10, Section: "1.6",
				Check: right(keep, keepRight),
			},
			{
				Name: "lab_observe loads and stores each register", Points: 10, Section: "1.7",
				Check: right(observe, observeRight),
			},
			{Name: "each call is made with the stack aligned", Points: 5, Section: "1.5", Check: alignment},
			{
				Name: "each function leaves to its caller what belongs to it", Points: 10, Section: "1.4",
				Check: preserves,
			},
			{Name: "the table of answers", Points: 5, Section: "1.8", Check: answers},
		},
	}}
}

// right is the check of a function that does what it should, with strangers that change all that they may.
func right(c *call, j judge) func(context.Context, *grade.Bench) ([]grade.Fault, error) {
	return func(ctx context.Context, b *grade.Bench) ([]grade.Fault, error) { return c.examine(ctx, b, j) }
}

// across is the sum over values with strangers that change all that they may.
var across = sumOver(3)

// sums examines lab_sum_over with strangers that change nothing: over some values, none and very many.
func sums(ctx context.Context, b *grade.Bench) (faults []grade.Fault, err error) {
	r := &room{bench: b}
	defer func() { err = errors.Join(err, r.close()) }()
	for _, count := range []uint64{3, 0, 1<<32 + 1} {
		v, err := r.make(ctx, sumOver(count), nil)
		if err != nil {
			return nil, err
		}
		if faults := v.verdict(sumRight); len(faults) > 0 {
			for i := range faults {
				faults[i].Text = fmt.Sprintf("with count %d, %s", count, faults[i].Text)
			}
			return faults, nil
		}
	}
	return nil, nil
}

// sumsAcross examines it with strangers that change all that they may.
// It is the same function, so it must have summed first.
func sumsAcross(ctx context.Context, b *grade.Bench) ([]grade.Fault, error) {
	return across.examine(ctx, b, sumRight)
}

// groups are all functions of lab 1, as one program serves them.
var groups = [][]*call{{returnAddress, stackAfter, tenth, across}, {callTen, keep}, {observe}}

// callers are the functions that call strangers.
var callers = []*call{across, callTen, keep, observe}

// alignment examines every call that is made.
func alignment(ctx context.Context, b *grade.Bench) ([]grade.Fault, error) {
	return each(ctx, b, callers, (*visit).aligned)
}

// preserves examines what every function leaves to its caller. A function that returns at once leaves everything as it
// was and has shown nothing.
func preserves(ctx context.Context, b *grade.Bench) ([]grade.Fault, error) {
	faults, err := each(ctx, b, append(slices.Clone(callers), returnAddress, stackAfter, tenth), (*visit).leaves)
	if len(faults) > 0 || err != nil {
		return faults, err
	}
	for _, c := range callers {
		if faults, err := c.again(ctx, b, (*visit).leaves); len(faults) > 0 || err != nil {
			return faults, err
		}
	}
	return nil, nil
}

// leaves is preserved, for a function that may not have returned.
func (v *visit) leaves() []grade.Fault {
	if v.trouble != nil {
		return []grade.Fault{v.failure}
	}
	return v.preserved()
}

// each examines a visit of each function.
func each(ctx context.Context, b *grade.Bench, calls []*call, look func(*visit) []grade.Fault) ([]grade.Fault, error) {
	var faults, untried []grade.Fault
	for _, c := range calls {
		v, err := c.shared(ctx, b)
		if err != nil {
			return nil, err
		}
		if c.meetings > 0 && len(v.met) == 0 {
			untried = append(
				untried, grade.Fault{Text: c.function + " calls no stranger, so it has nothing to show here"},
			)
			continue
		}
		faults = append(faults, look(v)...)
	}
	return append(faults, untried...), nil
}
