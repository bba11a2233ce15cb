package forkjoin

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"fiberlab/sched/fibersync"
)

// Scope is any number of forks with one join. InScope makes it, and joins all that has been forked in it. Fork may be
// called by the function that InScope calls, by the tasks of the scope, and by what these start, until InScope returns.
type Scope struct {
	forks scopeForks
}

// ScopeContext is a Scope whose tasks may fail. InScopeContext makes it.
type ScopeContext struct {
	forks scopeForks
}

// ErrScope is the error of a Fork after the join.
var ErrScope = errors.New("the scope has ended: fork before InScope returns")

// InScope calls body, and returns when body and all tasks that have been forked in the scope have returned. Tasks are
// concurrent as far as there are workers; the caller runs those that no other strand has begun, after body. Body counts
// as a part of the caller.
//
// If body or a task panics, no other task begins, and InScope panics as [Join] does when those that have begun have
// returned. It also panics as Join does if the pool is closed. It panics with an error that wraps fibersync.ErrNilFunc
// if body is nil.
func InScope(p *Pool, body func(p *Pool, s *Scope)) {
	mustBeFunc("InScope", body == nil)
	s := new(Scope)
	s.forks.outcome = new(outcome)
	s.forks.join(p, func(p *Pool) { body(p, s) })
}

// Fork has task called, by a worker or by the caller of InScope. The task gets the pool as its strand sees it, and has
// fiber-local values of its own. Fork does not block. It panics with an error that wraps ErrScope if InScope has
// returned, ErrNotMade if s is a zero value, or fibersync.ErrNilFunc if task is nil.
func (s *Scope) Fork(task func(p *Pool)) {
	mustBeFunc("Scope.Fork", task == nil)
	if s == nil {
		panic(notMade("Scope"))
	}
	s.forks.add("Scope", task)
}

// InScopeContext is InScope for functions that may fail. Each gets a context that is done when ctx is, or when another
// has failed, panicked or called Goexit; its cause is that error. No task begins after that. InScopeContext returns the
// error of the function that failed first, or context.Cause(ctx) if ctx was done before that and one was not called. It
// returns an error that wraps ErrClosed if the pool is closed. A panic goes before an error. InScopeContext panics with
// an error that wraps fibersync.ErrNilContext if ctx is nil, and like InScope.
func InScopeContext(
	ctx context.Context, p *Pool, body func(ctx context.Context, p *Pool, s *ScopeContext) error,
) error {
	mustBeFunc("InScopeContext", body == nil)
	o := within(ctx, "InScopeContext")
	defer o.end()
	s := new(ScopeContext)
	s.forks.outcome = o
	s.forks.join(p, func(p *Pool) {
		if !o.goesOn() {
			return
		}
		if err := body(o.ctx, p, s); err != nil {
			o.fail(err)
		}
	})
	return o.first
}

// Fork has task called, unless the scope has failed before the task begins. It panics as [Scope.Fork] does.
func (s *ScopeContext) Fork(task func(ctx context.Context, p *Pool) error) {
	mustBeFunc("ScopeContext.Fork", task == nil)
	if s == nil {
		panic(notMade("ScopeContext"))
	}
	s.forks.add("ScopeContext", func(p *Pool) {
		if err := task(s.forks.ctx, p); err != nil {
			s.forks.fail(err)
		}
	})
}

// scopeForks are the forks of one scope.
type scopeForks struct {
	*outcome
	pool *shared

	mu     sync.Mutex
	open   []*branch[struct{}] // those that were not complete when the scope last looked
	most   int                 // how many there may be until it looks again
	panics error               // of those that are complete
	over   bool                // all have been joined
}

// leastOpen is how many forks a scope keeps before it looks which are complete.
const leastOpen = 64

// add forks a task in a scope of this type.
func (f *scopeForks) add(scope string, task func(*Pool)) {
	if f.pool == nil {
		panic(notMade(scope))
	}
	b := &branch[struct{}]{call: func(p *Pool) (none struct{}) {
		if !f.goesOn() {
			return none
		}
		returned := false
		defer f.unless(&returned)
		task(p)
		returned = true
		return none
	}}
	b.job.body, b.job.inside = b, true
	s := f.pool.root.ownStrand()
	f.mu.Lock()
	if f.over {
		f.mu.Unlock()
		panic(fmt.Errorf("forkjoin: %s: fork: %w", scope, ErrScope))
	}
	if len(f.open) >= f.most {
		f.look()
	}
	f.open = append(f.open, b)
	if s == nil { // Close waits for the caller from now on, and for the scope before
		f.pool.running.Add(1)
		defer f.pool.gone()
	}
	f.mu.Unlock()
	f.pool.form.submit(s, &b.job)
}

// look removes the forks that are complete, so that a scope that goes on forking keeps no more than twice what is open.
// mu is held.
func (f *scopeForks) look() {
	open := f.open[:0]
	for _, b := range f.open {
		if !b.promise.Future().Ready() {
			open = append(open, b)
		} else if _, err := b.promise.Future().Get(); err != nil {
			f.panics = both(f.panics, err)
		}
	}
	clear(f.open[len(open):])
	f.open, f.most = open, max(leastOpen, 2*len(open))
}

// join calls body on a strand of the pool, and joins all forks.
func (f *scopeForks) join(p *Pool, body func(p *Pool)) {
	onStrand(f.outcome, p, func(p *Pool) (none struct{}) {
		f.pool = p.of
		var err error
		returned := false
		func() {
			defer func() {
				if !returned {
					if value := recover(); value != nil {
						err = fibersync.AsPanicError(value)
					}
					f.unless(&returned)
				}
				err = both(err, f.joinAll(p.strand))
			}()
			body(p)
			returned = true
		}()
		if err != nil {
			panic(err)
		}
		return none
	})
}

// joinAll runs the forks that have not begun on s, the newest first, and waits for the others. It returns their panics.
// If one calls Goexit on a goroutine, that ends the caller after the others.
func (f *scopeForks) joinAll(s *strand) error {
	defer func() {
		if !f.over {
			_ = f.joinAll(s)
		}
	}()
	for {
		f.mu.Lock()
		n := len(f.open) - 1
		if n < 0 {
			f.over = true
			f.mu.Unlock()
			return f.panics
		}
		b := f.open[n]
		f.open[n], f.open = nil, f.open[:n]
		f.mu.Unlock()
		if f.pool.form.takeBack(s, &b.job) {
			b.run(s)
		}
		if _, err := b.wait(s); err != nil {
			f.mu.Lock()
			f.panics = both(f.panics, err)
			f.mu.Unlock()
		}
	}
}
