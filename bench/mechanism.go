// Package bench measures what a switch costs, and what is built on switches, each mechanism beside its rivals.
//
// A Mechanism is a rival: it opens a Session, which repeats one operation. A Workload is a list of rivals with the same
// operation. Measure takes them in turn and returns a Report: measure.go, statistics.go, report.go. Each kind of
// mechanism has a file. In the workload "switch", two sides switch to each other and do nothing else: a round trip is
// two switches. The loops of the C mechanisms are in C, so that they contain no call from Go.
package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Mechanism is one way to do an operation.
type Mechanism struct {
	Name string
	// Says is what the operation does by this mechanism: the end of a sentence.
	Says string
	// Open makes what the operation needs, or says why that cannot be. If this machine lacks something, the error wraps
	// an *Absent. The caller must close the session.
	Open func() (Session, error)
	// At is the place on the axis of a workload that is a curve.
	At float64
	// List returns the instructions of one operation, one a line, and their number; nil: they are not known.
	List func() (text string, instructions int)
}

// Absent is the error of a mechanism that this machine lacks.
type Absent struct {
	What   string
	Remedy string // the line that installs it, or empty
}

func (a *Absent) Error() string {
	if a.Remedy == "" {
		return a.What
	}
	return a.What + ": " + a.Remedy
}

// Session is an opened mechanism. Any goroutine may use it, one at a time.
type Session interface {
	// Run does the operation n times, or as often as makes the round trips or laps whole, at least once. It blocks until
	// that is done. Its error is the system's, if a thread cannot be kept on its processor, or comes from the mechanism.
	Run(n int) (Sample, error)
	// Close releases threads, stacks and goroutines. The session must not be used afterwards.
	Close() error
}

// Sample is a number of operations and how long they took together.
type Sample struct {
	Operations int
	Elapsed    time.Duration
}

// PerOperation is the mean time of an operation in nanoseconds.
func (s Sample) PerOperation() float64 {
	return float64(s.Elapsed.Nanoseconds()) / float64(s.Operations)
}

// simple is the session of a loop that needs nothing.
type simple func(n int) (time.Duration, error)

func openLoop(loop func(n int) (time.Duration, error)) func() (Session, error) {
	return func() (Session, error) { return simple(loop), nil }
}

func (f simple) Run(n int) (Sample, error) {
	n = 2 * trips(n)
	took, err := f(n)
	return Sample{n, took}, err
}

func (simple) Close() error { return nil }

// Mechanisms returns the rivals of the workload "switch" that this processor has, in the order of its table.
func Mechanisms() []Mechanism {
	return slices.Concat(assembly(), []Mechanism{
		{Name: "ucontext", Says: "swapcontext asks the kernel to exchange the signal mask", Open: openUcontext},
		{Name: "sigsetjmp", Says: "it saves registers, and hides pointers from attackers", Open: openSigsetjmp},
		{Name: "boost", Says: "Boost.Context saves the registers on the stack that it leaves", Open: openProgram(
			"boost.cc", "boost/context/detail/fcontext.hpp", "apt-get install libboost-context-dev", "-lboost_context",
		)},
		{Name: "pcl", Says: "the Portable Coroutine Library of C saves what swapcontext does", Open: openProgram(
			"pcl.cc", "pcl.h", "apt-get install libpcl1-dev", "-lpcl",
		)},
		{Name: "coroutine", Says: "a C++20 coroutine has no stack, and saves only where it goes on", Open: openProgram(
			"coroutine.cc", "coroutine", "apt-get install g++",
		)},
		{Name: "goroutine", Says: "iter.Pull hands the thread over inside the Go runtime", Open: openLoop(pulls)},
		{Name: "gosched", Says: "runtime.Gosched goes through the Go scheduler's global queue", Open: openLoop(yields)},
		{Name: "channel", Says: "a send and a receive pass through the Go scheduler", Open: openLoop(goChannels)},
		{Name: "threads", Says: "one thread wakes the other by futex and sleeps, on one processor", Open: openLoop(threads)},
	}, goOnFibers())
}

// trips is how many round trips make at least n switches, at least one.
func trips(n int) int {
	return max(1, n/2+n%2)
}

// Workload is an operation and the mechanisms that do it.
type Workload struct {
	Name      string
	Title     string
	Operation string // "switch": the unit of a row is nanoseconds a switch
	Base      string // the mechanism to which ratios are taken
	Axis      string // what At of the mechanisms counts; empty: they are no curve
	Rivals    []Mechanism
	Floor     func() (Session, error) // opens the same loop without the operation; nil: there is none
	Sample    time.Duration           // roughly how long a sample takes; 0: as Options say
	Counted   bool                    // system calls, and instructions as the processor counts them
	Marks     []Mark                  // of the axis
	Notes     []string
}

// Switch is the workload of Mechanisms.
func Switch() Workload {
	return Workload{
		Name: "switch", Title: "A switch", Operation: "switch", Base: Mechanisms()[0].Name,
		Rivals: Mechanisms(), Floor: openFloor, Counted: true,
	}
}

// workloads makes each workload when it is asked for: that takes a look at the machine.
var workloads = []struct {
	name string
	make func() Workload
}{
	{"switch", Switch}, {"create", create}, {"ring", rings}, {"tasks", tasks}, {"sync", handover}, {"wake", wake},
	{"join", join}, {"depth", depth}, {"registers", registers}, {"explore", points},
}

// WorkloadNames lists the names of all workloads.
func WorkloadNames() (names []string) {
	for _, w := range workloads {
		names = append(names, w.name)
	}
	return names
}

// ParseWorkloads returns the workloads of that name: one, or with "all" each.
func ParseWorkloads(name string) (list []Workload, err error) {
	for _, w := range workloads {
		if name != w.name && name != "all" {
			continue
		}
		if made := w.make(); len(made.Rivals) > 0 {
			list = append(list, made)
		}
	}
	if list == nil {
		err = fmt.Errorf("unknown workload %q: choose one of %s or all", name, strings.Join(WorkloadNames(), ", "))
	}
	return list, err
}
