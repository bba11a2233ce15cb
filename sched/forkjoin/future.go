package forkjoin

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"fiberlab/fiber"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/park"
)

// Future is a task that has been submitted, and its result. Its status is NOT_STARTED as long as it waits in the pool,
// IN_PROGRESS while it runs, and COMPLETED when it has returned, or has been dropped. The first strand that claims it
// runs it, and no other can. It may be used from anywhere, by several at the same time. The methods of a nil or zero
// Future panic with an error that wraps ErrNotMade.
type Future[T any] struct {
	result[T]
	pool    *shared
	task    func(*Pool) (T, error) // nil once it has begun
	by      atomic.Uintptr         // the number of the strand that runs it
	fate    atomic.Uint32          // live, fetched or dropped
	discard atomic.Pointer[func(T)]
	note    *note // nil: Config.Forgotten is not set
}

const (
	live = iota
	fetched
	dropped
)

// Submit queues a task and returns its future. Get, on a fiber, runs the task if it has not begun. The task gets its
// pool, so that it can submit others. If the pool is closed and the caller is none of its tasks, the task never runs,
// and Get returns ErrClosed. Submit does not block. It panics with an error that wraps fibersync.ErrNilFunc if task is
// nil.
func Submit[T any](p *Pool, task func(*Pool) (T, error)) *Future[T] {
	mustBeFunc("submit", task == nil)
	s := p.ownStrand()
	f := &Future[T]{pool: p.of, task: task}
	f.job.body, f.job.inside = f, s != nil || p.of.isCalled()
	if s == nil {
		if p.of.admit() != nil {
			f.fate.Store(fetched)
			f.claim()
			f.drop(ErrClosed)
			return f
		}
		defer p.of.gone()
	}
	p.of.live.Add(1)
	if forgotten := p.of.cfg.Forgotten; forgotten != nil {
		f.note = &note{report: forgotten}
		runtime.AddCleanup(f, (*note).look, f.note)
	}
	p.of.form.submit(s, &f.job)
	return f
}

// run implements body.
func (f *Future[T]) run(s *strand) {
	task := f.task
	f.task = nil
	f.by.Store(s.self.Load())
	f.perform(s, func() (T, error) {
		defer f.by.Store(0)
		return task(&s.view)
	})
}

// Get returns the task's result and error. If the task has not begun, and the caller is a fiber, the caller takes it
// off its queue and runs it. Otherwise Get blocks the caller until the task is complete, a fiber not its thread. Any
// number of callers may get the same result, again and again.
//
// If the task has panicked, Get panics with an error that wraps a *fibersync.PanicError. If it has called Goexit on a
// goroutine, the error wraps fibersync.ErrGoexit; on a fiber that ends the program, as it does in any task of the
// scheduler. Get returns ErrDropped after Drop, and ErrClosed if the pool was closed before the task began. A task that
// gets its own future panics with an error that wraps ErrSelf.
func (f *Future[T]) Get() (T, error) { return f.GetContext(context.Background()) }

// GetContext is Get that waits no longer when ctx is done: it returns context.Cause(ctx) then, and the task goes on. A
// task that the caller runs itself is not stopped. If ctx is done before the call, the caller runs nothing. It panics
// with an error that wraps fibersync.ErrNilContext if ctx is nil.
func (f *Future[T]) GetContext(ctx context.Context) (T, error) {
	f.mustNotBeOwn("get")
	if ctx == nil {
		panic(fmt.Errorf("forkjoin: get: %w", fibersync.ErrNilContext))
	}
	future := f.promise.Future()
	if ctx == context.Background() || park.ContextError(ctx) == nil {
		f.help()
	}
	if !future.Ready() {
		if s := f.pool.root.ownStrand(); s != nil && !s.hooked {
			s.BeforeBlock()
			defer s.AfterBlock()
		}
	}
	v, err := future.GetContext(ctx)
	if !future.Ready() {
		return v, err
	}
	v, err = future.Get() // the task may have become complete after the wait had ended
	if !f.end(fetched) && f.fate.Load() == dropped {
		var none T
		return none, fmt.Errorf("forkjoin: get: %w", ErrDropped)
	}
	if f.panicked {
		panic(err)
	}
	return v, err
}

// Ready reports whether the task is complete, so that Get returns at once. It does not block.
func (f *Future[T]) Ready() bool {
	f.mustBeMade()
	return f.promise.Future().Ready()
}

// Status returns the task's status at some moment during the call. It does not block.
func (f *Future[T]) Status() fibersync.Status {
	f.mustBeMade()
	return f.promise.Future().Status()
}

// Done returns a channel that is closed when the task is complete, for goroutines that select. It does not have the
// task run: a drainer will.
func (f *Future[T]) Done() <-chan struct{} {
	f.mustBeMade()
	return f.promise.Future().Done()
}

// ErrSelf is the error of a task that waits for itself.
var ErrSelf = errors.New("a task waits for its own future: return the result instead")

// mustBeMade panics if f does not come from Submit.
func (f *Future[T]) mustBeMade() {
	if f == nil || f.pool == nil {
		panic(notMade("Future"))
	}
}

// mustNotBeOwn panics if the caller runs on the stack on which the task is in progress, or if there is no task.
func (f *Future[T]) mustNotBeOwn(what string) {
	f.mustBeMade()
	if by := f.by.Load(); by != 0 && by == fiber.Self() {
		panic(fmt.Errorf("forkjoin: %s: %w", what, ErrSelf))
	}
}
