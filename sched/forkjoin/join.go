package forkjoin

import (
	"errors"
	"fmt"

	"fiberlab/sched/fibersync"
)

// Join calls a and b, and returns their results when both have returned. b is forked: another strand may take it while the caller runs a;
// if none has, the caller runs it after a. a counts as a part of the caller. b is a task: it has fiber-local values of its
// own.
//
// If a or b panics, Join waits for the other if that has begun, and panics with an error that wraps the *fibersync.PanicError of
// each. If b has not begun when a panics, it does not run. Goexit in a or b ends the program, as in any task on a fiber; on a goroutine
// it ends the caller after the other has ended, or, if another goroutine has taken b, Join panics with an error that wraps fibersync.ErrGoexit. Join panics with an error that wraps fibersync.ErrNilFunc if a
// or b is nil.
//
// Called by a goroutine that is no task, Join blocks it, and runs as a task of the pool's scheduler. Only if that accepts no task, or has no
// workers, a and perhaps b run on the goroutine; then a must not wait for what b does.
func Join[A, B any](p *Pool, a func(*Pool) A, b func(*Pool) B) (A, B) {
	if a == nil || b == nil {
		panic(fmt.Errorf("forkjoin: join: %w", fibersync.ErrNilFunc))
	}
	p.mustBeMade()
	if p.comesFromOutside() {
		return joinFromOutside(p, a, b)
	}
	s, made := p.enter()
	if made {
		defer s.leave()
	}
	var ra A
	var rb B
	var err error
	if s.pool.cfg.Form == Heartbeat {
		ra, rb, err = joinPrivate(s, a, b)
	} else {
		ra, rb, err = joinQueued(s, a, b)
	}
	if err != nil {
		panic(err) // here, since a deferred function that panics would keep the frames above it: thousands of joins would search all of them
	}
	return ra, rb
}

func joinFromOutside[A, B any](p *Pool, a func(*Pool) A, b func(*Pool) B) (ra A, rb B) {
	p.of.asTask(func() { ra, rb = Join(p, a, b) })
	return ra, rb
}

// branch is the forked half of a Join, as a job.
type branch[T any] struct {
	result[T]
	call func(*Pool) T
}

// run implements body.
func (b *branch[T]) run(s *strand) {
	var v T
	var err error
	call, returned := b.call, false
	b.call = nil
	saved := s.hideLocals()
	defer func() {
		if !returned {
			err = b.fail(recover())
		}
		s.restoreLocals(saved)
		b.promise.TrySettle(v, err)
	}()
	v = call(&s.view)
	returned = true
}

// waiting is the forked half of a Join that has not been handed out.
type waiting[T any] func(*Pool) T

// hand implements fork.
func (w waiting[T]) hand(s *strand) fork {
	b := &branch[T]{call: w}
	b.pool, b.job.body, b.job.inside = s.pool, b, true
	s.pool.form.hand(s, &b.job)
	return b
}

// hand implements fork.
func (b *branch[T]) hand(*strand) fork { return b }

// joinPrivate is Join under Heartbeat. It returns the panic of a or b as an error.
func joinPrivate[A, B any](s *strand, a func(*Pool) A, b func(*Pool) B) (ra A, rb B, err error) {
	f := &s.forks
	level, returned, hidden := len(f.stack), false, false
	var saved any
	f.stack = append(f.stack, waiting[B](b))
	if s.due() {
		s.pulse()
	}
	defer func() {
		if !returned {
			if hidden {
				s.restoreLocals(saved)
			}
			err = s.unwind(level, recover())
		}
	}()
	ra = a(&s.view)
	handed := level < f.handed
	var taken fork
	if handed {
		taken = f.stack[level]
	}
	f.pop(level)
	if handed && !s.pool.form.takeBack(s, &taken.(*branch[B]).job) {
		rb = taken.(*branch[B]).await(s)
	} else {
		saved, hidden = s.hideLocals(), true
		rb = b(&s.view)
		s.restoreLocals(saved)
	}
	returned = true
	return ra, rb, nil
}

// pop removes the forks from level on, and clears what they leave, for the collector.
func (f *forks) pop(level int) {
	if level+1 < len(f.stack) {
		clear(f.stack[level+1:])
	}
	if level < len(f.stack) {
		f.stack[level] = nil
		f.stack = f.stack[:level]
	}
	f.handed = min(f.handed, level)
}

// unwind removes the forks of a Join that does not return: the caller has panicked with value, or called Goexit if that is nil. It returns the errors of
// both halves.
func (s *strand) unwind(level int, value any) (err error) {
	if value != nil {
		err = panicError(value)
	}
	f := &s.forks
	for i := level; i < len(f.stack); i++ {
		if b, handed := f.stack[i].(abandoned); handed {
			err = both(err, b.abandon(s))
		}
	}
	f.pop(level)
	return err
}

// both returns one error for two, each of which may be nil. An error that stands alone is not wrapped: it may pass through thousands of joins.
func both(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return errors.Join(a, b)
}

// abandoned is a branch whose Join does not return.
type abandoned interface {
	// abandon takes the branch back if it has not begun, and else waits for it. It returns its panic.
	abandon(s *strand) error
}

func (b *branch[T]) abandon(s *strand) error {
	if s.pool.form.takeBack(s, &b.job) {
		return nil
	}
	_, err := b.wait(s)
	return err
}

// joinQueued is Join under the other forms. It returns the panic of a or b as an error.
func joinQueued[A, B any](s *strand, a func(*Pool) A, b func(*Pool) B) (ra A, rb B, err error) {
	j := newBranch(s, b)
	queued, returned, hidden := true, false, false
	var saved any
	defer func() {
		if !returned {
			if hidden {
				s.restoreLocals(saved)
			}
			err = s.unwindQueued(j, queued, recover())
		}
	}()
	s.pool.form.submit(s, &j.job)
	ra = a(&s.view)
	mine := s.pool.form.takeBack(s, &j.job)
	queued = false
	if mine {
		j.reuse(s)
		saved, hidden = s.hideLocals(), true
		rb = b(&s.view)
		s.restoreLocals(saved)
	} else {
		rb = j.await(s)
	}
	returned = true
	return ra, rb, nil
}

// unwindQueued is unwind for the other forms. queued says that nobody has taken j back yet.
func (s *strand) unwindQueued(j abandoned, queued bool, value any) (err error) {
	if value != nil {
		err = panicError(value)
	}
	if queued {
		err = both(err, j.abandon(s))
	}
	return err
}

// mostSpare is how many branches a strand keeps to use them again.
const mostSpare = 64

// newBranch returns a branch that runs call.
func newBranch[T any](s *strand, call func(*Pool) T) *branch[T] {
	if n := len(s.spare); n > 0 {
		if b, ok := s.spare[n-1].(*branch[T]); ok {
			s.spare = s.spare[:n-1]
			b.call = call
			return b
		}
	}
	b := &branch[T]{call: call}
	b.pool, b.job.body, b.job.inside, b.job.private = s.pool, b, true, true
	return b
}

// reuse keeps b, which has been taken back, for newBranch, unless it has been claimed, or may be met in a queue.
func (b *branch[T]) reuse(s *strand) {
	b.call = nil
	if b.fresh() && len(s.spare) < mostSpare {
		s.spare = append(s.spare, b)
	}
}
