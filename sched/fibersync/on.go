package fibersync

import (
	"errors"
	"fmt"

	"fiberlab/sched/park"
)

// ErrNilScheduler is the error of a call that names a scheduler and gives none.
var ErrNilScheduler = errors.New("the scheduler is nil: give one, or call the form without On")

// Scheduler starts tasks: a *sched.Scheduler is one. Go has f called as a task, and does not wait for
// it, but may wait for room. It returns an error if it accepts no task.
type Scheduler interface {
	Go(f func()) error
}

// On calls f as a task of s, and blocks the caller until f has returned. What f starts by the functions
// of this package are tasks of s too. So On chooses the scheduler for any of them:
//
//	err := fibersync.On(s, func() { fibersync.Parallelize(sort, index) })
//
// It returns the scheduler's error if that does not accept the task, without calling f. If f panics,
// On panics with an error that wraps a *PanicError. If f calls Goexit, On panics with an error that wraps
// ErrGoexit, unless the scheduler ends the program for it first. On panics with an error that
// wraps ErrNilScheduler or ErrNilFunc if s or f is nil. If the caller is a fiber that must not block, On panics with an
// error that wraps sched.ErrInWait, and does not call f.
func On(s Scheduler, f func()) error {
	if f == nil {
		panic(fmt.Errorf("fibersync: on a scheduler: %w", ErrNilFunc))
	}
	start := startOn(s)
	mayPark(park.Current(), nil) // before f runs
	var failure error
	done := NewLatch(1)
	err := start(func() {
		watch(f, func(err error) {
			failure = err
			done.CountDown()
		})
	})
	if err != nil {
		return fmt.Errorf("fibersync: on a scheduler: %w", err)
	}
	done.Wait()
	if failure != nil {
		panic(failure)
	}
	return nil
}

// startOn returns a function that has s call what it is given. It panics with an error that wraps
// ErrNilScheduler if s is nil.
func startOn(s Scheduler) func(f func()) error {
	if s == nil {
		panic(fmt.Errorf("fibersync: start on a scheduler: %w", ErrNilScheduler))
	}
	return s.Go
}

// AsyncOn is Async on the scheduler s, whatever the caller's is. It is the way to start a task, to join it, and to
// detach it. The future's Get joins, and GetContext gives up when a context is done. A future that is dropped leaves
// its task alone. As Async does, it waits for room for the task. A panic of f goes to the scheduler, with its value,
// and its joiners get an error that wraps ErrUnfinished. AsyncOn panics with an error that wraps ErrNilScheduler or
// ErrNilFunc if s or f is nil.
func AsyncOn[T any](s Scheduler, f func() (T, error)) *Future[T] { return async(startOn(s), f) }

// GoOn is Go on the scheduler s, whatever the caller's is. It panics with an error that wraps
// ErrNilScheduler if s is nil.
func (g *WaitGroup) GoOn(s Scheduler, f func()) { g.start(startOn(s), f) }
