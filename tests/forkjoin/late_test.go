package forkjoin_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/forkjoin"
	"fiberlab/tests/internal/forktest"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// bodies are the calls that run bodies and have no context, so that they return no error.
var bodies = map[string]func(p *forkjoin.Pool, body func()){
	"Join": func(p *forkjoin.Pool, body func()) {
		forkjoin.Join(p, func(*forkjoin.Pool) int { body(); return 0 }, func(*forkjoin.Pool) int { body(); return 0 })
	},
	"For": func(p *forkjoin.Pool, body func()) {
		forkjoin.For(p, forkjoin.Range{End: 100, Grain: 1}, func(*forkjoin.Pool, int, int) { body() })
	},
	"For of nothing": func(p *forkjoin.Pool, body func()) {
		forkjoin.For(p, forkjoin.Range{}, func(*forkjoin.Pool, int, int) { body() })
	},
	"Map": func(p *forkjoin.Pool, body func()) {
		forkjoin.Map(p, make([]int, 100), func(*forkjoin.Pool, int) int { body(); return 0 })
	},
	"Reduce": func(p *forkjoin.Pool, body func()) {
		forkjoin.Reduce(p, forkjoin.Range{End: 100, Grain: 1},
			func(*forkjoin.Pool, int, int) int { body(); return 0 }, func(_, _ int) int { body(); return 0 })
	},
	"Scan": func(p *forkjoin.Pool, body func()) {
		forkjoin.Scan(p, make([]int, 100), func(_, _ int) int { body(); return 0 })
	},
	"SortFunc": func(p *forkjoin.Pool, body func()) {
		forkjoin.SortFunc(p, make([]int, 100), func(_, _ int) int { body(); return 0 })
	},
	"SortStableFunc": func(p *forkjoin.Pool, body func()) {
		forkjoin.SortStableFunc(p, make([]int, 100), func(_, _ int) int { body(); return 0 })
	},
	"InScope": func(p *forkjoin.Pool, body func()) {
		forkjoin.InScope(p, func(_ *forkjoin.Pool, s *forkjoin.Scope) {
			body()
			for range 5 {
				s.Fork(func(*forkjoin.Pool) { body() })
			}
		})
	},
	"Func.Call": func(p *forkjoin.Pool, body func()) {
		forkjoin.NewFunc(func(s *forkjoin.Strand[int, int], n int) int {
			if body(); n == 0 {
				return 0
			}
			return s.Join(s.Fork(n - 1))
		}).Call(p, 3)
	},
}

// froms call a function from the test's goroutine, and from a task of s.
func froms(t *testing.T, s *sched.Scheduler) []func(f func()) {
	return []func(f func()){func(f func()) { f() }, func(f func()) { schedtest.Perform(t, s, f) }}
}

// Each call on a closed pool says that it is closed, wherever it comes from, and runs nothing.
func TestCallsOfAClosedPool(t *testing.T) {
	onClosed(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		require.NoError(t, p.Close())
		run := func() { t.Error("a body runs after Close") }
		for name, call := range bodies {
			for _, from := range froms(t, s) {
				from(func() { assert.ErrorIs(t, panicOf(t, func() { call(p, run) }), forkjoin.ErrClosed, name) })
			}
		}
		for name, call := range withContext {
			for _, from := range froms(t, s) {
				for _, n := range []int{0, 100} {
					from(func() { assert.ErrorIs(t, call(t.Context(), p, n, run), forkjoin.ErrClosed, name) })
				}
			}
		}
		err := p.Close()
		assert.ErrorIs(t, err, forkjoin.ErrClosed)
		assert.ErrorContains(t, err, "call Close once")
	})
}

// withContext are calls with a context, of n bodies.
var withContext = map[string]func(ctx context.Context, p *forkjoin.Pool, n int, body func()) error{
	"JoinContext": func(ctx context.Context, p *forkjoin.Pool, n int, body func()) error {
		half := func(context.Context, *forkjoin.Pool) (int, error) { body(); return 0, nil }
		_, _, err := forkjoin.JoinContext(ctx, p, half, half)
		return err
	},
	"InScopeContext": func(ctx context.Context, p *forkjoin.Pool, n int, body func()) error {
		return forkjoin.InScopeContext(
			ctx, p, func(context.Context, *forkjoin.Pool, *forkjoin.ScopeContext) error { body(); return nil },
		)
	},
	"FuncContext.Call": func(ctx context.Context, p *forkjoin.Pool, n int, body func()) error {
		f := forkjoin.NewFuncContext(
			func(context.Context, forkjoin.StrandContext[int, int], int) (int, error) { body(); return 0, nil },
		)
		_, err := f.Call(ctx, p, n)
		return err
	},
	"ForContext": func(ctx context.Context, p *forkjoin.Pool, n int, body func()) error {
		return forkjoin.ForContext(
			ctx, p, forkjoin.Range{End: n},
			func(context.Context, *forkjoin.Pool, int, int) error { body(); return nil },
		)
	},
	"MapContext": func(ctx context.Context, p *forkjoin.Pool, n int, body func()) error {
		_, err := forkjoin.MapContext(
			ctx, p, make([]int, n), func(context.Context, *forkjoin.Pool, int) (int, error) { body(); return 0, nil },
		)
		return err
	},
	"ReduceContext": func(ctx context.Context, p *forkjoin.Pool, n int, body func()) error {
		_, err := forkjoin.ReduceContext(ctx, p, forkjoin.Range{End: n},
			func(context.Context, *forkjoin.Pool, int, int) (int, error) { body(); return 0, nil },
			func(_ context.Context, _, _ int) (int, error) { body(); return 0, nil })
		return err
	},
	"ScanContext": func(ctx context.Context, p *forkjoin.Pool, n int, body func()) error {
		_, err := forkjoin.ScanContext(
			ctx, p, make([]int, n), func(_ context.Context, _, _ int) (int, error) { body(); return 0, nil },
		)
		return err
	},
	"SortFuncContext": func(ctx context.Context, p *forkjoin.Pool, n int, body func()) error {
		return forkjoin.SortFuncContext(ctx, p, make([]int, n), func(_, _ int) int { body(); return 0 })
	},
	"SortStableFuncContext": func(ctx context.Context, p *forkjoin.Pool, n int, body func()) error {
		return forkjoin.SortStableFuncContext(ctx, p, make([]int, n), func(_, _ int) int { body(); return 0 })
	},
}

// A future that meets Close has its result, or the error, and nothing else; its task does not begin later.
func TestFuturesThatMeetClose(t *testing.T) {
	forktest.EachConfig(
		t, suite.Over{Workers: forktest.Workers},
		func(t *testing.T, cfg sched.Config, form forkjoin.Form) {
			suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
				for range suite.Scaled(200, 30) {
					meetClose(t, s, form, "Submit", func(p *forkjoin.Pool, body func()) {
						f := forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { body(); return 1, nil })
						if v, err := f.Get(); err != nil {
							panic(err)
						} else if v != 1 {
							t.Errorf("the result is %d", v)
						}
					})
				}
			})
		},
	)
}

// A call that meets Close runs all bodies before Close returns, or says that the pool is closed and runs no more.
func TestCallsThatMeetClose(t *testing.T) {
	cfgs := suite.Over{Workers: forktest.Workers}
	forktest.EachConfig(t, cfgs, func(t *testing.T, cfg sched.Config, form forkjoin.Form) {
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			for name, call := range bodies {
				if name == "For of nothing" {
					continue
				}
				for range suite.Scaled(20, 3) {
					meetClose(t, s, form, name, call)
				}
			}
		})
	})
}

// meetClose has a goroutine call while the pool is closed.
func meetClose(
	t *testing.T, s *sched.Scheduler, form forkjoin.Form, name string, call func(p *forkjoin.Pool, body func()),
) {
	p, err := forkjoin.New(s, forkjoin.Config{Form: form})
	require.NoError(t, err)
	var closed atomic.Bool
	begin := make(chan struct{})
	over := schedtest.NewLatch(1)
	go func() {
		defer over.Done()
		defer func() {
			if value := recover(); value != nil {
				err, _ := value.(error)
				assert.ErrorIs(t, err, forkjoin.ErrClosed, "%s panics with %v", name, value)
			}
		}()
		<-begin
		for range 10 {
			call(p, func() {
				if closed.Load() {
					t.Errorf("a body of %s begins after Close has returned", name)
				}
				pause()
				if closed.Load() {
					t.Errorf("a body of %s goes on after Close has returned", name)
				}
			})
		}
	}()
	close(begin)
	for range 3 {
		yield()
	}
	if err := p.Close(); err != nil {
		assert.ErrorIs(t, err, forkjoin.ErrLive) // it has come before a Get
	}
	closed.Store(true)
	over.Wait()
}

// The panic of a function that disposes of a result goes on when all results have been disposed of
// and the pool is closed.
func TestPanicInDiscardAtClose(t *testing.T) {
	onClosed(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		var disposed int
		for range 5 {
			f := forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { return 1, nil })
			f.Discard(func(int) { disposed++; panic(errBad) })
			waitUntilReady(t, s, f)
		}
		var value any
		func() {
			defer func() { value = recover() }()
			_ = p.Close()
		}()
		requirePanic(t, value)
		assert.Equal(t, 5, disposed)
		assert.ErrorIs(t, p.Close(), forkjoin.ErrClosed)
	})
}

// Tasks run on fibers, also if the scheduler is overloaded, and whatever asks for them.
func TestTasksRunOnFibers(t *testing.T) {
	over := suite.Over{Workers: []int{1, 2}}
	forktest.EachConfig(t, over, func(t *testing.T, cfg sched.Config, form forkjoin.Form) {
		cfg.MaxQueued, cfg.OverloadAfter = 1, time.Microsecond
		forktest.OnPool(t, cfg, forkjoin.Config{Form: form}, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
			onFiber := func() {
				if sched.Current() == nil {
					t.Error("a task runs on a goroutine")
				}
			}
			filled := schedtest.NewLatch(1)
			var stop atomic.Bool
			go func() {
				defer filled.Done()
				for !stop.Load() {
					if err := s.Go(pause); err != nil && !errors.Is(err, sched.ErrOverload) {
						t.Error(err)
						return
					}
				}
			}()
			for range suite.Scaled(20, 5) {
				f := forkjoin.Submit(p, func(p *forkjoin.Pool) (int, error) { onFiber(); return 1, nil })
				_, err := f.Get()
				assert.NoError(t, err)
				forkjoin.Join(p, nothing, func(p *forkjoin.Pool) int {
					onFiber()
					return 0
				})
				forkjoin.Join(p, func(p *forkjoin.Pool) int {
					for name, call := range bodies {
						if name != "Join" {
							call(p, onFiber)
						}
					}
					return 0
				}, nothing)
			}
			stop.Store(true)
			filled.Wait()
		})
	})
}

// A call from a goroutine gives up when its context is done, though no worker is free.
func TestContextOfACallThatWaitsForAWorker(t *testing.T) {
	over := suite.Over{Workers: []int{1, 2}}
	forktest.EachConfig(t, over, func(t *testing.T, cfg sched.Config, form forkjoin.Form) {
		forktest.OnPool(t, cfg, forkjoin.Config{Form: form}, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
			release := holdWorkers(t, s)
			for name, call := range withContext {
				ctx, cancel := context.WithCancelCause(t.Context())
				ended := make(chan error)
				go func() {
					ended <- call(ctx, p, 100, func() { t.Errorf("%s runs a body without a worker", name) })
				}()
				cancel(errCause)
				assert.ErrorIs(t, <-ended, errCause, name)
			}
			release()
		})
	})
}
