package forkjoin_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/forkjoin"
	"fiberlab/tests/internal/crash"
	"fiberlab/tests/internal/forktest"
	"fiberlab/tests/internal/schedtest"
)

// When both halves panic, which run at the same time, so does Join, with both.
func TestBothHalvesPanic(t *testing.T) {
	other := errors.New("of the other")
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		schedtest.Perform(t, s, func() {
			for _, first := range []bool{true, false} {
				var begun, goOn fibersync.Event
				ended := false
				err := panicOf(t, func() {
					forkjoin.Join(p,
						func(*forkjoin.Pool) int {
							begun.Wait()
							goOn.Signal()
							if first {
								crash.PanicWith(errDeliberate)
							}
							return 1
						},
						func(*forkjoin.Pool) int {
							begun.Signal()
							goOn.Wait()
							sched.Yield()
							ended = true
							crash.PanicWith(other)
							return 1
						})
				})
				assert.True(t, ended, "Join has not waited for the second half")
				assert.Equal(t, first, errors.Is(err, errDeliberate))
				assert.ErrorIs(t, err, other)
				var e *fibersync.PanicError
				if assert.ErrorAs(t, err, &e) {
					assert.Contains(t, string(e.Stack), "crash.PanicWith")
				}
			}
			assert.Equal(t, 55, fib(p, 10))
		})
	})
}

// When a function panics, its forks that have begun end first, and the others do not run. The panics of all are told.
func TestFuncPanicsBesideItsForks(t *testing.T) {
	other := errors.New("of a fork")
	const root, taken, late = 0, 1, 2
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		schedtest.Perform(t, s, func() {
			var begun, goOn fibersync.Event
			ended := false
			f := forkjoin.NewFunc(func(s *forkjoin.Strand[int, int], n int) int {
				switch n {
				case taken:
					begun.Signal()
					goOn.Wait()
					sched.Yield()
					ended = true
					crash.PanicWith(other)
				case root:
					s.Fork(taken)
					begun.Wait()
					goOn.Signal()
					crash.PanicWith(errDeliberate)
				}
				return 1
			})
			err := panicOf(t, func() { f.Call(p, root) })
			assert.True(t, ended, "Call has not waited for the fork")
			assert.ErrorIs(t, err, errDeliberate)
			assert.ErrorIs(t, err, other)
			assert.Equal(t, 1, f.Call(p, late))
		})
	})
}

// A fork on another stack panics when it has forked itself: its forks have ended when the Join that asks for it panics.
func TestTakenForkPanicsBesideItsForks(t *testing.T) {
	other := errors.New("of a fork of the fork")
	const root, taken, inner = 0, 1, 2
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		schedtest.Perform(t, s, func() {
			var takenBegun, innerBegun, goOn fibersync.Event
			ended := false
			f := forkjoin.NewFunc(func(s *forkjoin.Strand[int, int], n int) int {
				switch n {
				case inner:
					innerBegun.Signal()
					goOn.Wait()
					sched.Yield()
					ended = true
					crash.PanicWith(other)
				case taken:
					takenBegun.Signal()
					s.Fork(inner)
					innerBegun.Wait()
					goOn.Signal()
					crash.PanicWith(errDeliberate)
				case root:
					ticket := s.Fork(taken)
					takenBegun.Wait()
					err := panicOf(t, func() { s.Join(ticket) })
					assert.True(t, ended, "the fork has not waited for its own")
					assert.ErrorIs(t, err, errDeliberate)
					assert.ErrorIs(t, err, other)
				}
				return 1
			})
			assert.Equal(t, 1, f.Call(p, root))
		})
	})
}
