// Package verify runs schedules of a program that was built for package explore, and trusts nothing in it.
//
// The explorer's runtime sits in the same process as the code that it judges. That code can find the runtime's counters
// and write them, print a result of its own, or end the process. So what the process says is evidence, and no verdict.
// This package makes a verdict. It starts the same executable under package machine and stops it at each function of
// the runtime that the program calls: the compiler's marks, the calls of explore.h, malloc. None of these functions
// runs. The verifier reads the arguments from the registers, and decides which thread goes on and what a load returns.
// It does the effect itself and sets the program counter to the return address. It keeps clocks, histories and the heap
// in its own memory, so there is no report that could be forged: the program can only do what it does.
//
// Then the program's own runtime follows the same decisions (runtime/follow.c), and must claim the same steps. So a
// program that behaves otherwise when it is watched is found out.
//
// What to read, in this order:
//
//	verify.go     the verdict, and what it is about
//	target.go     what is known of the program before it runs
//	execution.go  one schedule: threads as sets of registers
//	chooser.go    which thread goes on, which value is read
//	calls.go      what the compiler's marks do, done from outside
//	face.go       what the calls of explore.h and of the C library do
//	model.go      the memory model and data races
//	heap.go       malloc and free
//	claims.go     the steps that the program's own runtime claims
package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fiberlab/labs/explore"
	"fiberlab/labs/machine"
)

// Options say how to verify a program.
type Options struct {
	Machine   machine.Options // how it is started; Output, Errors and Limit are set here
	Seed      uint64          // by which schedules are drawn
	Schedules int             // how many are drawn; 0: 100

	// What code outside of the test may use. The source file that defines explore_test has the test's code.
	Calls  []string // functions of explore.h that other code may call; nil: all
	Shared []string // of the file's variables, those that other code may access; nil: all
}

// The kinds of faults that a Fault of package explore does not have.
const (
	Tampering = "tampering" // the program used what is the explorer's or the test's alone
	Differs   = "differs"   // it behaves otherwise under its own runtime
)

// Fault is how a schedule failed. As an error, it ends the schedule.
type Fault struct {
	Kind     string         // as explore.Fault.Kind, or Tampering, or Differs
	Text     string         // one sentence
	Place    machine.Place  // of the last step, if it is known
	Number   int            // of the schedule, from 1
	Schedule string         // for explore.Options.Replay; empty if the program's own runtime does not get there
	Steps    []explore.Step // of this schedule; From, Stale, Note, Block and Offset are not set
}

func (f *Fault) Error() string { return f.Text }

// Result is what was found.
type Result struct {
	Schedules int    // that were run
	Stops     int    // calls of the runtime that the verifier did in its place
	Fault     *Fault // nil: none of them failed
}

// Program draws schedules of the executable at path and runs them, until one fails. Of a program that has one schedule,
// it runs that once. The program is started twice. The verdict depends on the executable and the seed alone. A program
// that makes no call for some seconds of processor time is the one exception: it runs without end.
func Program(ctx context.Context, path string, o Options) (*Result, error) {
	if o.Schedules == 0 {
		o.Schedules = 100
	}
	t, err := open(path)
	if err != nil {
		return nil, err
	}
	t.ofTest = slices.DeleteFunc(t.ofTest, func(v named) bool {
		return o.Shared == nil || slices.Contains(o.Shared, v.name)
	})
	w := &watch{target: t, options: o}
	if err := w.start(ctx); err != nil {
		return nil, errors.Join(err, w.close())
	}
	var result *Result
	var scripts []string
	var runs [][]explore.Step
	err = machine.Batch(w.Machine, func() error {
		result, scripts, runs, err = w.all(ctx)
		return err
	})
	if err = errors.Join(err, w.close()); err != nil {
		return nil, err
	}
	said, err := claimed(ctx, t, o, scripts, runs)
	if err != nil {
		return nil, err
	}
	w.compare(result, said, runs)
	return result, nil
}

// watch is the program under control.
type watch struct {
	*target
	machine.Machine
	options    Options
	start0     machine.Registers // as the program stood at the entry of explore_test
	engine     uint64            // the address of the runtime's state
	stackStart uint64            // the address of the stacks of threads
	heapStart  uint64            // and of the region of malloc
	first      [][]byte          // what was in target.globals before the first schedule
	state      []byte            // what was in the runtime's state
	stops      int
}

// start starts the program and has its runtime map its memory. It stands before the first instruction of explore_test
// then, and nothing of the submission has run.
func (w *watch) start(ctx context.Context) (err error) {
	if w.Machine, err = machine.Start(ctx, w.program, withWords(w.options.Machine, "--follow", "0")); err != nil {
		return err
	}
	stop, err := w.Run(ctx, w.test)
	for err == nil && stop.Kind == machine.Signalled && ignored(stop) {
		stop, err = w.Run(ctx, w.test)
	}
	switch {
	case err != nil:
		return err
	case stop.Kind != machine.Reached:
		return fmt.Errorf("the program %v before its test begins", stop)
	}
	if w.start0, err = w.Registers(); err != nil {
		return err
	}
	if w.engine, err = w.word(w.engineAt); err != nil {
		return err
	}
	if w.stackStart, err = w.word(w.engine + w.stacksAt); err != nil {
		return err
	}
	if w.heapStart, err = w.word(w.engine + w.heapAt); err != nil {
		return err
	}
	for _, r := range w.globals {
		bytes := make([]byte, r.size)
		if err := w.Read(r.address, bytes); err != nil {
			return err
		}
		w.first = append(w.first, bytes)
	}
	if w.state, err = w.runtimeState(); err != nil {
		return err
	}
	return w.Plant(w.entries...)
}

func (w *watch) close() error {
	if w.Machine == nil {
		return nil
	}
	return w.Close()
}

// mostSilent is how many branches a schedule may have until the runtime stops it, in stretches without a visible step.
const mostSilent = 16

// runtimeState reads what the runtime keeps: its variables, and what these point to. The runtime counts branches, but
// does not see visible steps: so the count begins low enough for a whole schedule.
func (w *watch) runtimeState() ([]byte, error) {
	begin := int32(-mostSilent * silentLimit)
	if err := w.set(w.engine+w.silentAt, 4, uint64(uint32(begin))); err != nil {
		return nil, err
	}
	var all []byte
	for _, v := range w.variables {
		bytes := make([]byte, v.size)
		if err := w.Read(v.address, bytes); err != nil {
			return nil, err
		}
		all = append(all, bytes...)
		if v.pointee == 0 {
			continue
		}
		at, err := w.word(v.address)
		if err != nil {
			return nil, err
		}
		bytes = make([]byte, v.pointee)
		if at != 0 && w.Read(at, bytes) == nil {
			all = append(all, bytes...)
		}
	}
	return all, nil
}

// all runs the schedules, until one fails, or there are no others. scripts and runs have the decisions and the steps of
// each.
func (w *watch) all(ctx context.Context) (r *Result, scripts []string, runs [][]explore.Step, err error) {
	r = &Result{}
	length := 0
	for varies := true; r.Schedules < w.options.Schedules && r.Fault == nil && varies; {
		e := newExecution(w, newChooser(w.options.Seed, r.Schedules, length))
		err := w.restore()
		if err == nil {
			err = e.run(ctx)
		}
		r.Schedules++
		fault := new(Fault)
		if errors.As(err, &fault) {
			r.Fault = fault
		} else if err != nil {
			return nil, nil, nil, err
		}
		if state, err := w.runtimeState(); !w.ended(err) && (err != nil || !slices.Equal(state, w.state)) {
			r.Fault = &Fault{Kind: Tampering, Text: "The program changes the explorer's data."}
		}
		if r.Fault != nil {
			r.Fault.Number, r.Fault.Steps = r.Schedules, e.steps
			e.place(r.Fault)
		}
		length, varies = max(length, len(e.script)), e.choose.varies
		scripts, runs = append(scripts, string(e.script)), append(runs, e.steps)
	}
	r.Stops = w.stops
	return r, scripts, runs, nil
}

// ended reports whether the error says that the program runs no more.
func (w *watch) ended(err error) bool { return errors.Is(err, machine.ErrEnded) }

// restore gives all variables their first values.
func (w *watch) restore() error {
	for i, r := range w.globals {
		if err := w.Write(r.address, w.first[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *watch) word(address uint64) (uint64, error) { return w.value(address, 8) }
