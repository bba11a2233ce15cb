package forkjoin

import (
	"errors"
	"fmt"
	"runtime/debug"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

// result is what a job leads to: the claimable future, and what goes with it.
type result[T any] struct {
	promise  fibersync.Promise[T]
	job      job
	pool     *shared
	panicked bool // the future's error is a panic of the task; written before it is settled
}

func (r *result[T]) claim() bool { return r.promise.Claim() }

func (r *result[T]) started() bool { return r.promise.Future().Status() != fibersync.NotStarted }

func (r *result[T]) drop(reason error) {
	var none T
	r.promise.TrySettle(none, fmt.Errorf("forkjoin: %w", reason))
}

// fresh tells whether no trace of the job is left, though it was queued: it may be queued again.
func (r *result[T]) fresh() bool {
	return !r.started() && !r.job.stale
}

// wait blocks s, which is the caller, until the task is complete, and returns its result.
func (r *result[T]) wait(s *strand) (T, error) {
	future := r.promise.Future()
	if !s.hooked && !future.Ready() {
		s.BeforeBlock() // a goroutine has no hook
		defer s.AfterBlock()
	}
	return future.Get()
}

// await is wait for the result of a fork, which has no error but a panic: then the caller panics with it.
func (r *result[T]) await(s *strand) T {
	v, err := r.wait(s)
	if err != nil {
		panic(err)
	}
	return v
}

// fail returns the error of a task that has panicked with value, or has called Goexit if that is nil. It must be called while the
// frames that panicked are still there.
func (r *result[T]) fail(value any) error {
	if value == nil {
		if sched.Current() != nil {
			endProgram() // before a caller gets the error, and goes on for a moment
		}
		return fmt.Errorf("forkjoin: %w", fibersync.ErrGoexit)
	}
	r.panicked = true
	return panicError(value)
}

// panicError returns the value of a panic as an error that has the stack with it. A panic that comes from another strand has its own
// stack already.
func panicError(value any) error {
	if err, ok := value.(error); ok {
		if p := (*fibersync.PanicError)(nil); errors.As(err, &p) {
			return err
		}
	}
	return &fibersync.PanicError{Value: value, Stack: debug.Stack()}
}
