package forkjoin_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/forkjoin"
	"fiberlab/tests/internal/check"
	"fiberlab/tests/internal/forktest"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// A scope joins all forks, those too that its tasks make, and those that wait for others.
func TestScope(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		forktest.FromEach(t, s, p, func(p *forkjoin.Pool) {
			for _, n := range []int{0, 1, 7, suite.Scaled(1000, 100)} {
				var ran atomic.Int64
				forkjoin.InScope(p, func(p *forkjoin.Pool, s *forkjoin.Scope) {
					for range n {
						s.Fork(func(p *forkjoin.Pool) {
							s.Fork(func(*forkjoin.Pool) { pause(); ran.Add(1) })
							pause()
							ran.Add(int64(fib(p, 3)))
						})
					}
				})
				assert.EqualValues(t, 3*n, ran.Load())
			}
			var begun fibersync.Event
			forkjoin.InScope(p, func(p *forkjoin.Pool, s *forkjoin.Scope) {
				s.Fork(func(*forkjoin.Pool) { begun.Signal() })
				begun.Wait()
			})
		})
	})
}

// After a panic of body or of a task no other begins, and the scope panics when all have returned.
func TestPanicInAScope(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		forktest.FromEach(t, s, p, func(p *forkjoin.Pool) {
			var running atomic.Int64
			requirePanic(t, recovered(func() {
				forkjoin.InScope(p, func(_ *forkjoin.Pool, s *forkjoin.Scope) {
					for range 50 {
						s.Fork(func(*forkjoin.Pool) { running.Add(1); defer running.Add(-1); pause() })
					}
					panic(errBad)
				})
			}))
			assert.Zero(t, running.Load())
			var kept *forkjoin.Scope
			requirePanic(t, recovered(func() {
				forkjoin.InScope(p, func(_ *forkjoin.Pool, s *forkjoin.Scope) {
					kept = s
					for i := range 200 {
						s.Fork(func(*forkjoin.Pool) {
							running.Add(1)
							defer running.Add(-1)
							if pause(); i == 20 {
								panic(errBad)
							}
						})
					}
				})
			}))
			assert.Zero(t, running.Load())
			assert.ErrorIs(t, panicOf(t, func() { kept.Fork(func(*forkjoin.Pool) {}) }), forkjoin.ErrScope)
		})
	})
}

func TestScopeContext(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		forktest.FromEach(t, s, p, func(p *forkjoin.Pool) {
			var ran atomic.Int64
			in := func(ctx context.Context, n int, task func(ctx context.Context, i int) error) error {
				return forkjoin.InScopeContext(
					ctx, p,
					func(_ context.Context, _ *forkjoin.Pool, s *forkjoin.ScopeContext) error {
						for i := range n {
							s.Fork(
								func(ctx context.Context, _ *forkjoin.Pool) error { ran.Add(1); return task(ctx, i) },
							)
						}
						return nil
					},
				)
			}
			assert.NoError(t, in(t.Context(), 100, func(context.Context, int) error { return nil }))
			assert.EqualValues(t, 100, ran.Swap(0))

			// One fails, when another waits for the context.
			waits := fibersync.NewLatch(1)
			assert.Equal(t, errBad, in(t.Context(), 2, func(ctx context.Context, i int) error {
				if i == 1 {
					waits.CountDown()
					return new(fibersync.Event).WaitContext(ctx)
				}
				waits.Wait()
				return errBad
			}))
			assert.EqualValues(t, 2, ran.Swap(0))
			assert.Equal(t, errBad, forkjoin.InScopeContext(t.Context(), p,
				func(context.Context, *forkjoin.Pool, *forkjoin.ScopeContext) error { return errBad }))

			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(errCause)
			assert.Equal(t, errCause, in(ctx, 5, func(context.Context, int) error { return nil }))
			assert.Zero(t, ran.Load())
			requirePanic(
				t, recovered(func() { _ = in(t.Context(), 5, func(context.Context, int) error { panic(errBad) }) }),
			)
		})
	})
}

// A scope that goes on forking holds no memory for tasks that are over.
func TestScopeFreesItsForks(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		schedtest.Perform(t, s, func() {
			var held []weak.Pointer[[1000]int]
			forkjoin.InScope(p, func(_ *forkjoin.Pool, s *forkjoin.Scope) {
				for range 500 {
					var over fibersync.Event
					memory := new([1000]int)
					held = append(held, weak.Make(memory))
					s.Fork(func(*forkjoin.Pool) { memory[0] = 1; over.Signal() })
					over.Wait()
				}
				runtime.GC()
				left := 0
				for _, m := range held {
					if m.Value() != nil {
						left++
					}
				}
				assert.Less(t, left, 200)
			})
		})
	})
}

// sized is a function with an error, that counts the nodes of a tree with two children each.
func sized(failAt int) *forkjoin.FuncContext[int, int] {
	var size func(ctx context.Context, s forkjoin.StrandContext[int, int], depth int) (int, error)
	size = func(ctx context.Context, s forkjoin.StrandContext[int, int], depth int) (int, error) {
		if depth == failAt {
			return 7, errBad
		}
		if depth == 0 {
			return 1, nil
		}
		right := s.Fork(depth - 1)
		left, err := size(ctx, s, depth-1)
		if err != nil {
			return 0, err
		}
		more, err := s.Join(right)
		return 1 + left + more, err
	}
	return forkjoin.NewFuncContext(size)
}

func TestFuncContext(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		good, bad := sized(-1), sized(3)
		forktest.FromEach(t, s, p, func(p *forkjoin.Pool) {
			n, err := good.Call(t.Context(), p, 10)
			assert.NoError(t, err)
			assert.Equal(t, 2047, n)
			n, err = bad.Call(t.Context(), p, 10)
			assert.Equal(t, errBad, err)
			assert.Zero(t, n)
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(errCause)
			n, err = good.Call(ctx, p, 10)
			assert.Equal(t, errCause, err)
			assert.Zero(t, n)
			panics := forkjoin.NewFuncContext(
				func(_ context.Context, s forkjoin.StrandContext[int, int], n int) (int, error) {
					if n == 0 {
						panic(errBad)
					}
					return s.Join(s.Fork(n - 1))
				},
			)
			requirePanic(t, recovered(func() { _, _ = panics.Call(t.Context(), p, 5) }))
		})
	})
}

// When a fork fails, the context of the others is done.
func TestFuncContextCancels(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		schedtest.Perform(t, s, func() {
			f := forkjoin.NewFuncContext(
				func(ctx context.Context, s forkjoin.StrandContext[int, int], n int) (int, error) {
					switch n {
					case 0:
						return 0, errBad
					case 1:
						return 1, new(fibersync.Event).WaitContext(ctx)
					}
					fails := s.Fork(0)
					one, err := s.Join(s.Fork(1)) // parks, so that another strand takes the fork
					if err != nil {
						return 0, err
					}
					two, err := s.Join(fails)
					return one + two, err
				},
			)
			n, err := f.Call(t.Context(), p, 2)
			assert.Equal(t, errBad, err)
			assert.Zero(t, n)
		})
	})
}

// What was not made, or is nil, says so.
func TestZeroScopes(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		task := func(*forkjoin.Pool) {}
		failing := func(context.Context, *forkjoin.Pool) error { return nil }
		for _, s := range []*forkjoin.Scope{nil, new(forkjoin.Scope)} {
			check.PanicsWith(t, forkjoin.ErrNotMade, func() { s.Fork(task) })
		}
		for _, s := range []*forkjoin.ScopeContext{nil, new(forkjoin.ScopeContext)} {
			check.PanicsWith(t, forkjoin.ErrNotMade, func() { s.Fork(failing) })
		}
		for _, f := range []*forkjoin.FuncContext[int, int]{nil, new(forkjoin.FuncContext[int, int])} {
			check.PanicsWith(t, forkjoin.ErrNotMade, func() { _, _ = f.Call(t.Context(), p, 1) })
		}
		var none forkjoin.StrandContext[int, int]
		check.PanicsWith(t, forkjoin.ErrNotMade, func() { none.Fork(1) })
		check.PanicsWith(t, forkjoin.ErrNotMade, func() { _, _ = none.Join(1) })
		check.PanicsWith(t, forkjoin.ErrNotMade, func() { none.Pool() })
		check.PanicsWith(t, fibersync.ErrNilFunc, func() { forkjoin.NewFuncContext[int, int](nil) })
		check.PanicsWith(t, fibersync.ErrNilFunc, func() { forkjoin.InScope(p, nil) })
		check.PanicsWith(t, fibersync.ErrNilFunc, func() { _ = forkjoin.InScopeContext(t.Context(), p, nil) })
		forkjoin.InScope(p, func(_ *forkjoin.Pool, s *forkjoin.Scope) {
			check.PanicsWith(t, fibersync.ErrNilFunc, func() { s.Fork(nil) })
		})
		check.PanicsWith(
			t, forkjoin.ErrNotMade, func() { forkjoin.InScope(nil, func(*forkjoin.Pool, *forkjoin.Scope) {}) },
		)
	})
}
