package forkjoin

import (
	"fmt"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

// result is what a job leads to: the claimable future, and what goes with it.
type result[T any] struct {
	promise  fibersync.Promise[T]
	job      job
	panicked bool // the future's error is a panic of the task; written before it is settled
}

func (r *result[T]) claim() bool { return r.promise.Claim() }

func (r *result[T]) started() bool { return r.promise.Future().Status() != fibersync.NotStarted }

func (r *result[T]) drop(reason error) {
	var none T
	r.promise.TrySettle(none, fmt.Errorf("forkjoin: %w", reason))
}

// wait blocks s, which is the caller, until the task is complete, and returns its result.
func (r *result[T]) wait(s *strand) (T, error) {
	future := r.promise.Future()
	if !s.hooked && !future.Ready() {
		s.BeforeBlock() // a goroutine has no hook
		defer s.AfterBlock()
	}
	s.waits = true
	v, err := future.Get()
	s.waits = false
	return v, err
}

// await is wait for the result of a fork, which has no error but a panic: then the caller panics with it.
func (r *result[T]) await(s *strand) T {
	v, err := r.wait(s)
	if err != nil {
		panic(err)
	}
	return v
}

// perform calls the task, which s has claimed, without the caller's fiber-local values, and settles the future with
// what comes of it.
func (r *result[T]) perform(s *strand, task func() (T, error)) {
	var v T
	var err error
	returned := false
	saved := s.hideLocals()
	defer func() {
		if !returned {
			err = r.fail(recover())
		}
		s.restoreLocals(saved)
		r.promise.TrySettle(v, err)
	}()
	v, err = task()
	returned = true
}

// fail returns the error of a task that has panicked with value, or has called Goexit if that is nil. It must be called
// while the frames that panicked are still there.
func (r *result[T]) fail(value any) error {
	if value == nil {
		if sched.Current() != nil {
			endProgram() // before a caller gets the error, and goes on for a moment
		}
		return fmt.Errorf("forkjoin: %w", fibersync.ErrGoexit)
	}
	r.panicked = true
	return fibersync.AsPanicError(value)
}
