package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fiberlab/sched"
)

// MostSchedules is how many schedules of a program Explore tries at most.
const MostSchedules = 3_000

// ErrManySchedules is the error of a program with more schedules than MostSchedules.
var ErrManySchedules = fmt.Errorf("more than %d schedules: take lines or threads out of the program", MostSchedules)

// ErrSchedule is the error of a schedule with a thread that the program does not have.
var ErrSchedule = errors.New("the program has no such thread")

// Exploration is what all schedules of a program lead to.
type Exploration struct {
	Schedules int               `json:"schedules"` // there are so many
	Wrong     int               `json:"wrong"`     // so many of them lead to a fault
	Kinds     map[FaultKind]int `json:"kinds,omitempty"`
	// of those with a fault the one with the fewest turns, then the fewest switches
	Shortest *Interleaving `json:"shortest,omitempty"`
}

// Explore runs the program under every schedule that there is, each from the beginning. A schedule ends where the
// program does, or with a fault.
//
// cfg says on which fibers; it is run without workers, on the calling goroutine alone. Explore blocks until it has
// finished or ctx is done. It returns ErrManySchedules, the cause of ctx, or an error of sched.Run: the caller must not
// be a task, nor have a scheduler bound.
func (p *Program) Explore(ctx context.Context, cfg sched.Config) (Exploration, error) {
	x := Exploration{Kinds: make(map[FaultKind]int)}
	err := onOneThread(cfg, func(s *sched.Scheduler) error {
		var path []choice
		for {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if x.Schedules == MostSchedules {
				return ErrManySchedules
			}
			turn := 0
			v, err := p.run(s, func(ready []*thread) *thread {
				if turn == len(path) {
					path = append(path, choice{of: len(ready)})
				}
				turn++
				return ready[path[turn-1].taken]
			})
			if err != nil {
				return err
			}
			x.add(v)
			for len(path) > 0 && path[len(path)-1].taken == path[len(path)-1].of-1 {
				path = path[:len(path)-1]
			}
			if len(path) == 0 {
				return nil
			}
			path[len(path)-1].taken++
		}
	})
	return x, err
}

// choice is a moment at which several threads could go on, and which of them did.
type choice struct{ taken, of int }

func (x *Exploration) add(v *Interleaving) {
	x.Schedules++
	if v.Fault == nil {
		return
	}
	x.Wrong++
	x.Kinds[v.Fault.Kind]++
	if x.Shortest == nil || v.shorter(x.Shortest) {
		x.Shortest = v
	}
}

// Replay runs the program once, under the schedule: the names of threads in the order of their turns. The turn of a
// thread that wants the lock while another one holds it passes without effect; so does the turn of a thread that sleeps
// or has ended. When the schedule is used up, the first thread that can go on always does. For cfg, the caller and the
// other errors see Explore.
func (p *Program) Replay(cfg sched.Config, schedule []string) (*Interleaving, error) {
	for _, name := range schedule {
		if !slices.Contains(p.Threads(), name) {
			return nil, fmt.Errorf("demo: replay: thread %q: %w", name, ErrSchedule)
		}
	}
	var v *Interleaving
	err := onOneThread(cfg, func(s *sched.Scheduler) (err error) {
		v, err = p.run(s, func(ready []*thread) *thread {
			for len(schedule) > 0 {
				name := schedule[0]
				schedule = schedule[1:]
				t := ready[0].run.named(name)
				if slices.Contains(ready, t) {
					return t
				}
				t.run.pass(t)
			}
			return ready[0]
		})
		return err
	})
	return v, err
}

// pass notes that t is given a turn without effect, if it wants the lock and that has not been noted before.
func (e *execution) pass(t *thread) {
	if !t.resting {
		return
	}
	line := t.section.Lines[t.at]
	turn := Turn{Thread: t.name, Line: line.Number, Text: line.Text, Relocks: t.relocks, Waits: true}
	noted := slices.ContainsFunc(e.result.Turns, func(other Turn) bool {
		return other.Waits && other.Thread == turn.Thread && other.Line == turn.Line
	})
	if !noted {
		turn.Notes = []string{"waits: " + e.holder.name + " holds it"}
		e.result.Turns = append(e.result.Turns, turn)
	}
}

// run runs the program once on s, of which the caller runs on the only worker. choose returns the thread that
// has the next turn, one of those that are ready.
func (p *Program) run(s *sched.Scheduler, choose func(ready []*thread) *thread) (*Interleaving, error) {
	e, err := newExecution(p, s)
	if err != nil {
		return nil, err
	}
	for e.result.Fault == nil {
		var ready []*thread
		for _, t := range e.threads {
			if t.ready() {
				ready = append(ready, t)
			}
		}
		if len(ready) == 0 {
			e.judgeEnd()
			break
		}
		e.step(choose(ready))
	}
	e.result.Words = e.result.words()
	return &e.result, e.end(nil)
}

// onOneThread calls f on a scheduler of that configuration to which only the calling goroutine belongs.
func onOneThread(cfg sched.Config, f func(s *sched.Scheduler) error) error {
	cfg.Workers = 0
	var failed error
	err := sched.Run(cfg, func() { failed = f(sched.Get()) })
	return errors.Join(failed, err)
}
