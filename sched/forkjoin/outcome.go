package forkjoin

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"fiberlab/sched/fibersync"
	"fiberlab/sched/park"
)

// outcome is what the parts of one call share. After a part has failed, panicked or called Goexit, and after the
// context of the call is done, no other part begins.
type outcome struct {
	halted atomic.Bool

	ctx    context.Context // what the parts get; nil: the call has none
	cancel context.CancelCauseFunc

	once  sync.Once
	first error // why halted is set
}

// within is the outcome of a call of that name with a context. The caller calls its end.
func within(ctx context.Context, call string) *outcome {
	if ctx == nil {
		panic(fmt.Errorf("forkjoin: %s: %w", call, fibersync.ErrNilContext))
	}
	o := new(outcome)
	o.ctx, o.cancel = context.WithCancelCause(ctx)
	return o
}

// end releases the context. All parts have returned.
func (o *outcome) end() { o.cancel(nil) }

// goesOn reports whether another part may begin.
func (o *outcome) goesOn() bool {
	if o.halted.Load() {
		return false
	}
	if o.ctx != nil {
		if err := park.ContextError(o.ctx); err != nil {
			o.fail(err)
			return false
		}
	}
	return true
}

// fail halts the call because of err, and cancels the context of the other parts, unless an earlier error has done so.
func (o *outcome) fail(err error) {
	o.once.Do(func() {
		o.first = err
		o.halted.Store(true)
		if o.cancel != nil {
			o.cancel(err)
		}
	})
}

// unless halts the call unless *returned is set. A part defers it, so that its panic or Goexit, which goes on, stops
// the others.
func (o *outcome) unless(returned *bool) {
	if !*returned {
		o.fail(fmt.Errorf("forkjoin: a part of the call: %w", fibersync.ErrUnfinished))
	}
}

// onStrand calls f, which does the work of the call, with the pool as the caller's strand sees it. It panics as Join
// does if f panics, in a Join or outside of any. It does not call f if the pool is closed, or the
// context of the call is done before a worker is free. Then it fails the call; if that has no context, it panics.
func onStrand[T any](o *outcome, p *Pool, f func(p *Pool) T) (v T) {
	if p.comesFromOutside() {
		v, err := asTask(o.ctx, p, func(p *Pool) T { return onStrand(o, p, f) })
		o.mustRun(err)
		return v
	}
	s := p.ownStrand()
	if s == nil {
		if err := p.of.admit(); err != nil {
			o.mustRun(err)
			return v
		}
		s = p.of.newStrand()
		defer s.leave()
	}
	returned := false
	defer func() {
		if !returned {
			if value := recover(); value != nil {
				panic(fibersync.AsPanicError(value))
			}
		}
	}()
	v = f(&s.view)
	returned = true
	return v
}

// mustRun fails the call if err, which has kept it from beginning, is not nil. If the call has no context, it returns
// no errors: then mustRun panics.
func (o *outcome) mustRun(err error) {
	if err == nil {
		return
	}
	if o.ctx == nil {
		panic(err)
	}
	o.fail(err)
}

// mustBeFunc panics if a function that the caller has given is nil.
func mustBeFunc(call string, isNil bool) {
	if isNil {
		panic(fmt.Errorf("forkjoin: %s: %w", call, fibersync.ErrNilFunc))
	}
}
