package forkjoin_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/forkjoin"
	"fiberlab/tests/internal/forktest"
	"fiberlab/tests/internal/suite"
)

var errBad, errCause = errors.New("bad"), errors.New("enough")

// recovered returns what f panics with.
func recovered(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

// requirePanic checks that a call has panicked because a part of it has panicked with errBad.
func requirePanic(t *testing.T, value any) {
	t.Helper()
	err, ok := value.(error)
	if !assert.True(t, ok, "no panic with an error, but %v", value) {
		return
	}
	assert.ErrorIs(t, err, errBad)
	var panicked *fibersync.PanicError
	if assert.ErrorAs(t, err, &panicked) {
		assert.Equal(t, errBad, panicked.Value)
		assert.NotEmpty(t, panicked.Stack)
	}
}

// looped is one call of a function of this package in which step is called for each of n elements.
type looped struct {
	name string
	call func(ctx context.Context, p *forkjoin.Pool, n int, step func(ctx context.Context) error) error
}

// Each calls step n times or, if it combines two elements, n-1 times or more.
var looping = []looped{
	{"ForContext", func(ctx context.Context, p *forkjoin.Pool, n int, step func(context.Context) error) error {
		return forkjoin.ForContext(
			ctx, p, forkjoin.Range{End: n, Grain: 1},
			func(ctx context.Context, _ *forkjoin.Pool, _, _ int) error {
				return step(ctx)
			},
		)
	}},
	{"MapContext", func(ctx context.Context, p *forkjoin.Pool, n int, step func(context.Context) error) error {
		results, err := forkjoin.MapContext(
			ctx, p, make([]int, n),
			func(ctx context.Context, _ *forkjoin.Pool, _ int) (int, error) {
				return 0, step(ctx)
			},
		)
		return orResults(results == nil, err)
	}},
	{"ReduceContext", func(ctx context.Context, p *forkjoin.Pool, n int, step func(context.Context) error) error {
		sum, err := forkjoin.ReduceContext(ctx, p, forkjoin.Range{End: n, Grain: 1},
			func(ctx context.Context, _ *forkjoin.Pool, _, _ int) (int, error) { return 1, step(ctx) },
			func(_ context.Context, left, right int) (int, error) { return left + right, nil })
		return orResults(sum == 0, err)
	}},
	{
		"ReduceContext, combine",
		func(ctx context.Context, p *forkjoin.Pool, n int, step func(context.Context) error) error {
			sum, err := forkjoin.ReduceContext(ctx, p, forkjoin.Range{End: n + 1, Grain: 1},
				func(context.Context, *forkjoin.Pool, int, int) (int, error) { return 1, nil },
				func(ctx context.Context, left, right int) (int, error) { return left + right, step(ctx) })
			return orResults(sum == 0, err)
		},
	},
	{"ScanContext", func(ctx context.Context, p *forkjoin.Pool, n int, step func(context.Context) error) error {
		results, err := forkjoin.ScanContext(
			ctx, p, make([]int, n+1),
			func(ctx context.Context, _, _ int) (int, error) {
				return 0, step(ctx)
			},
		)
		return orResults(results == nil, err)
	}},
}

// orResults returns err, or another error if there is none and no result either, or both.
func orResults(none bool, err error) error {
	if none != (err != nil) {
		return fmt.Errorf("a result or an error, not both: %v, %w", none, err)
	}
	return err
}

func eachLoop(t *testing.T, test func(t *testing.T, p *forkjoin.Pool, l looped)) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		for _, l := range looping {
			forktest.FromEach(t, s, p, func(p *forkjoin.Pool) {
				test(t, p, l)
			})
			if t.Failed() {
				t.Log(l.name)
				return
			}
		}
	})
}

const (
	steps       = 60 // the elements of each loop
	lastAtMost  = 20 // what ends a loop happens in one of so many
	mostStrands = 9  // so many steps may be about to begin then: those of eight workers and the caller
)

// The first error is returned, no step begins after it,
// and those in progress see their context cancelled because of it.
func TestFirstError(t *testing.T) {
	eachLoop(t, func(t *testing.T, p *forkjoin.Pool, l looped) {
		last := int64(1 + rand.IntN(lastAtMost))
		var begun, running, after atomic.Int64
		var failed atomic.Bool
		err := l.call(t.Context(), p, steps, func(ctx context.Context) error {
			running.Add(1)
			defer running.Add(-1)
			if failed.Load() && ctx.Err() != nil {
				after.Add(1)
			}
			pause()
			if begun.Add(1) == last {
				defer failed.Store(true)
				return fmt.Errorf("step %d: %w", last, errBad)
			}
			if ctx.Err() != nil {
				assert.ErrorIs(t, context.Cause(ctx), errBad)
				return context.Cause(ctx)
			}
			return nil
		})
		assert.ErrorIs(t, err, errBad)
		assert.EqualError(t, err, fmt.Sprintf("step %d: %v", last, errBad))
		assert.Zero(t, running.Load(), "steps that were not waited for")
		assert.LessOrEqual(t, after.Load(), int64(mostStrands), "steps that began after the error")
	})
}

// A panic halts the others like an error, and goes on in the caller.
func TestFirstPanic(t *testing.T) {
	eachLoop(t, func(t *testing.T, p *forkjoin.Pool, l looped) {
		last := int64(1 + rand.IntN(lastAtMost))
		var begun, running atomic.Int64
		value := recovered(func() {
			_ = l.call(t.Context(), p, steps, func(ctx context.Context) error {
				running.Add(1)
				defer running.Add(-1)
				pause()
				if begun.Add(1) == last {
					panic(errBad)
				}
				if err := context.Cause(ctx); err != nil {
					assert.ErrorIs(t, err, fibersync.ErrUnfinished)
				}
				return nil
			})
		})
		requirePanic(t, value)
		assert.Zero(t, running.Load(), "steps that were not waited for")
	})
}

// The cause of a context that is done while the loop runs is returned, if something is left to do.
func TestContextDoneMeanwhile(t *testing.T) {
	eachLoop(t, func(t *testing.T, p *forkjoin.Pool, l looped) {
		last := int64(1 + rand.IntN(lastAtMost))
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		var begun, running, after atomic.Int64
		var done atomic.Bool
		err := l.call(ctx, p, steps, func(ctx context.Context) error {
			running.Add(1)
			defer running.Add(-1)
			if done.Load() {
				after.Add(1)
			}
			if begun.Add(1) == last {
				cancel(errCause)
				done.Store(true)
				assert.ErrorIs(t, context.Cause(ctx), errCause)
			}
			pause()
			return nil
		})
		assert.ErrorIs(t, err, errCause)
		assert.Zero(t, running.Load(), "steps that were not waited for")
		assert.LessOrEqual(t, after.Load(), int64(mostStrands), "steps that began after the context was done")
	})
}

// Nothing begins if the context is done before the call.
func TestContextDoneBefore(t *testing.T) {
	eachLoop(t, func(t *testing.T, p *forkjoin.Pool, l looped) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errCause)
		assert.ErrorIs(t, l.call(ctx, p, steps, func(context.Context) error {
			t.Error("a step began")
			return nil
		}), errCause)
	})
}

// Of the parts that have begun, each is done when the call returns; all of them, if none fails.
func TestNoError(t *testing.T) {
	eachLoop(t, func(t *testing.T, p *forkjoin.Pool, l looped) {
		var calls atomic.Int64
		assert.NoError(t, l.call(t.Context(), p, steps, func(context.Context) error {
			nowAndThen(rand.Uint32(), 10)
			calls.Add(1)
			return nil
		}))
		assert.GreaterOrEqual(t, calls.Load(), int64(steps))
	})
}

// A sort gives up when its context is done, and the elements are all there.
func TestSortGivesUp(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		random := suite.NewRand(t)
		for _, n := range []int{2, suite.Scaled(10000, 5000)} {
			by := sorting[random.IntN(2)]
			list := cards(random, n)
			forktest.FromEach(t, s, p, func(p *forkjoin.Pool) {
				ctx, cancel := context.WithCancelCause(t.Context())
				var calls atomic.Int64
				last := 1 + rand.Int64N(int64(5*n))
				err := by.context(ctx, p, list, func(a, b card) int {
					if calls.Add(1) == last {
						cancel(errCause)
					}
					return byKey(a, b)
				})
				if err != nil {
					assert.ErrorIs(t, err, errCause)
				}
				requireSame(t, list)
				cancel(errCause)
				assert.ErrorIs(t, by.context(ctx, p, list, func(a, b card) int {
					t.Error("a comparison after the context was done")
					return byKey(a, b)
				}), errCause)
				requireSame(t, list)
			})
		}
	})
}

// Where there are no workers, Goexit in a part ends the goroutine that has called, after the parts that have begun.
func TestGoexitInALoop(t *testing.T) {
	onGoroutines(t, func(t *testing.T, p *forkjoin.Pool) {
		var running atomic.Int64
		var returned bool
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			forkjoin.For(p, forkjoin.Range{End: steps, Grain: 1}, func(_ *forkjoin.Pool, begin, _ int) {
				running.Add(1)
				defer running.Add(-1)
				if begin == 0 {
					runtime.Goexit()
				}
				pause()
			})
			returned = true
		}()
		<-ended
		assert.False(t, returned)
		assert.Zero(t, running.Load(), "parts that were not waited for")
	})
}
