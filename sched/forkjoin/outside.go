package forkjoin

import (
	"context"
	"fmt"

	"fiberlab/sched"
	"fiberlab/sched/park"
)

// Tasks run on fibers of the scheduler, where they can wait. So a goroutine that calls For, Func.Call and the like
// submits one task that does the work, and waits for it. Join runs its first half on the goroutine, of which that is a
// part, and leaves the second one to a worker. Only a scheduler that has no workers, or is closed before the pool,
// leaves tasks to goroutines.

// isOutside reports whether the caller is a goroutine, and no task, though the pool has workers.
func (p *shared) isOutside() bool { return p.scheduler.Workers() > 0 && park.Current() == nil }

// comesFromOutside reports whether the caller is a goroutine that runs no task of the pool, though the pool has
// workers.
func (p *Pool) comesFromOutside() bool {
	if s := p.ownStrand(); s != nil {
		return s.guest
	}
	return p.of.isOutside()
}

// admit counts a caller that runs no task of the pool, and is about to bring work, until it calls gone. It returns an
// error that wraps ErrClosed if the pool is closed: Close counts on nothing else being brought. It does not block.
func (p *shared) admit() error {
	p.running.Add(1) // before the load: Close stores closed, and then loads running
	if p.closed.Load() && !p.isCalled() {
		p.gone()
		return fmt.Errorf("forkjoin: %w", ErrClosed)
	}
	return nil
}

// isCalled reports whether the caller is part of a task of the pool, for which Close waits. Such a caller runs on the
// task's fiber, perhaps in a coroutine (iter.Pull), or in a blocking call.
func (p *shared) isCalled() bool {
	if _, called := p.strands.Load(park.CallerSelf()); called {
		return true
	}
	f := sched.Current()
	if f == nil {
		return false
	}
	hook := f.OnBlock(nil)
	f.OnBlock(hook)
	s, ok := hook.(*strand)
	for ok && s.pool != p {
		s, ok = s.outer.(*strand)
	}
	return ok
}

// asTask calls f on a task of the pool, and blocks the caller, a goroutine, until f has returned. If ctx is not nil and
// is done before f has begun, f is not called, and asTask returns context.Cause(ctx). If the pool is closed before
// that, the error wraps ErrClosed. If f panics, asTask panics.
func asTask[T any](ctx context.Context, p *Pool, f func(*Pool) T) (v T, err error) {
	s := p.ownStrand()
	if s == nil {
		if err := p.of.admit(); err != nil {
			return v, err
		}
		defer p.of.gone()
	}
	b := &branch[T]{call: f}
	b.job.body, b.job.inside = b, s != nil || p.of.isCalled()
	p.of.form.submit(s, &b.job)
	if s != nil {
		s.BeforeBlock()
		defer s.AfterBlock()
	}
	future := b.promise.Future()
	if ctx != nil {
		if _, err = future.GetContext(ctx); !future.Ready() && p.of.form.takeBack(nil, &b.job) {
			return v, err
		}
	}
	v, err = future.Get()
	if err != nil && b.call == nil { // it has begun
		panic(err)
	}
	return v, err
}

// joinOutside is Join on a goroutine that runs no task of the pool. It returns the panic of a or b as an error.
func joinOutside[A, B any](s *strand, a func(*Pool) A, b func(*Pool) B) (ra A, rb B, err error) {
	j := &branch[B]{call: b}
	j.job.body, j.job.inside = j, true
	returned := false
	defer func() {
		if !returned {
			err = s.unwindQueued(j, true, recover())
		}
	}()
	s.pool.form.submit(s, &j.job)
	ra = a(&s.view)
	returned = true
	rb, err = j.wait(s)
	return ra, rb, err
}
