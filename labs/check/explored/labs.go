// Package explored examines what students write in labs 6 to 10: C11 whose schedules the explorer tries.
//
// An item is a scenario: a file of labs/NN/tests that defines explore_test. The grader links its own copy of it with
// the submission and the explorer's runtime. The item gets its points if no schedule of the scenario fails, neither in
// the search nor among those that package verify runs from outside.
//
// A scenario is compiled with the lab's own headers alone, never with a submission's.
//
// What to read, in this order:
//
//	labs.go   what a lab of this kind is made of
//	build.go  what a submission may use, and what it is linked with
//	check.go  whether a scenario fails, and what is said of that
//	own.go    a lab that a teacher describes in a file
//	lab06.go  the scenarios of each lab
//	lab07.go
//	lab08.go
//	lab09.go
//	lab10.go
package explored

import (
	"context"
	"runtime"
	"time"

	_ "fiberlab/internal/platform/system" // ends a build for another system with one line
	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// Labs returns labs 6 to 10.
func Labs() []*grade.Lab { return []*grade.Lab{lab06(), lab07(), lab08(), lab09(), lab10()} }

// swap are the sources of the swap on which the fibers of labs 6 and 9 stand.
var swap = []string{
	"swap/context.c", "swap/swap_amd64.S", "swap/swap_arm64.S", "swap/trampoline_amd64.S", "swap/trampoline_arm64.S",
}

// itemTime is how long the examination of an item may take, on the clock of a machine that is busy. A program that runs
// without end is over before: see cpuTime.
const itemTime = 10 * time.Minute

// scenario is an item of a lab.
type scenario struct {
	file        string // in the folder tests of the lab
	name        string // of the item: "a yielded fiber runs after the others"
	points      int
	section     string // of the handout
	preemptions int    // tries schedules with at most so many; 0: with any number
	schedules   int    // tries at most so many
}

// lab is the lab of that number, whose items are the scenarios. handedIn has patterns of file names.
func lab(number, title string, handedIn []string, scenarios []scenario) *grade.Lab {
	l := &grade.Lab{
		Number: number, Title: title, Arches: []*machine.Arch{machine.AMD64, machine.ARM64},
		Handout: "handout.md", Sources: handedIn, Examiner: &examiner{scenarios, notOfTests, nil}, ItemTime: itemTime,
		AtOnce: runtime.GOMAXPROCS(0),
	}
	for _, s := range scenarios {
		l.Items = append(l.Items, grade.Item{
			Name: s.name, Points: s.points, Section: s.section,
			Check: func(ctx context.Context, b *grade.Bench) ([]grade.Fault, error) { return s.check(ctx, l, b) },
		})
	}
	return l
}
