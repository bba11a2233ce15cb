package forkjoin

import (
	"errors"
	"fmt"

	"fiberlab/sched/fibersync"
)

// Join calls a and b, and returns their results when both have returned. b is forked: another strand may take it while
// the caller runs a; if none has, the caller runs it after a. a counts as a part of the caller. b is a task: it has
// fiber-local values of its own.
//
// Called by a goroutine that is no task, Join runs a on that goroutine, and a worker runs b. If the pool is closed, and
// the caller is none of its tasks, Join panics with an error that wraps ErrClosed.
//
// If a or b panics, Join waits for the other if that has begun, and panics with an error that wraps the
// *fibersync.PanicError of each. If b has not begun when a panics, it does not run. Goexit in a or b ends the program,
// as in any task on a fiber. In a on a goroutine it ends the caller: b does not run if it has not begun, and else ends
// before that. Where goroutines run tasks, Join panics with an error that wraps fibersync.ErrGoexit if another one has
// taken b. Join panics with an error that wraps fibersync.ErrNilFunc if a or b is nil.
func Join[A, B any](p *Pool, a func(*Pool) A, b func(*Pool) B) (A, B) {
	if a == nil || b == nil {
		panic(fmt.Errorf("forkjoin: join: %w", fibersync.ErrNilFunc))
	}
	s, made := p.enter()
	if made {
		defer s.leave()
	}
	if s.left--; s.left <= 0 {
		s.spendTurn()
	}
	var ra A
	var rb B
	var err error
	switch {
	case s.guest:
		ra, rb, err = joinOutside(s, a, b)
	case s.pool.cfg.Form == Heartbeat:
		ra, rb, err = joinPrivate(s, a, b)
	default:
		ra, rb, err = joinQueued(s, a, b)
	}
	if err != nil {
		// here, since a deferred function that panics would keep the frames above it: thousands of joins would search
		// all of them
		panic(err)
	}
	return ra, rb
}

// branch is the forked half of a Join, as a job.
type branch[T any] struct {
	result[T]
	call func(*Pool) T
}

// run implements body.
func (b *branch[T]) run(s *strand) {
	call := b.call
	b.call = nil
	b.perform(s, func() (T, error) { return call(&s.view), nil })
}

// both returns one error for two, each of which may be nil. An error that stands alone is not wrapped: it may pass
// through thousands of joins.
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
