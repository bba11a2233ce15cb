package forkjoin_test

import (
	"cmp"
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/internal/debug"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/forkjoin"
	"fiberlab/tests/internal/check"
	"fiberlab/tests/internal/forktest"
	"fiberlab/tests/internal/schedtest"
)

// A task that goes on submitting holds no memory for the futures that are over,
// in whatever order it has asked for them.
func TestFuturesAreFreed(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		orders := map[string]func(a, b *forkjoin.Future[int]){
			"the oldest first":   func(a, b *forkjoin.Future[int]) { _, _ = a.Get(); _, _ = b.Get() },
			"the newest first":   func(a, b *forkjoin.Future[int]) { _, _ = b.Get(); _, _ = a.Get() },
			"the oldest dropped": func(a, b *forkjoin.Future[int]) { a.Drop(); _, _ = b.Get() },
			"both dropped":       func(a, b *forkjoin.Future[int]) { a.Drop(); b.Drop() },
		}
		for order, end := range orders {
			use := func(p *forkjoin.Pool) (int, error) {
				const pairs = 100
				var futures []weak.Pointer[forkjoin.Future[int]]
				for range pairs {
					a := forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { return 1, nil })
					b := forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { return 2, nil })
					end(a, b)
					futures = append(futures, weak.Make(a), weak.Make(b))
				}
				runtime.GC()
				left := 0
				for _, f := range futures {
					if f.Value() != nil {
						left++
					}
				}
				assert.Less(t, left, pairs/4, "futures left, %s", order)
				return 0, nil
			}
			schedtest.Perform(t, s, func() { _, _ = use(p) })
			_, _ = forkjoin.Submit(p, use).Get()
		}
	})
}

// What was not made says so.
func TestZeroValues(t *testing.T) {
	check.CallEachMethod(t, new(forkjoin.Pool))
	check.CallEachMethod(t, new(forkjoin.Future[int]))
	check.CallEachMethod(t, new(forkjoin.Func[int, int]))
	check.CallEachMethod(t, (*forkjoin.Pool)(nil))
	check.CallEachMethod(t, (*forkjoin.Future[int])(nil))
	check.CallEachMethod(t, (*forkjoin.Func[int, int])(nil))
	for _, p := range []*forkjoin.Pool{nil, new(forkjoin.Pool)} {
		check.PanicsWith(t, forkjoin.ErrNotMade, func() {
			forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { return 0, nil })
		})
		none := func(*forkjoin.Pool) int { return 0 }
		check.PanicsWith(t, forkjoin.ErrNotMade, func() { forkjoin.Join(p, none, none) })
		check.PanicsWith(t, forkjoin.ErrNotMade, func() {
			forkjoin.NewFunc(func(*forkjoin.Strand[int, int], int) int { return 0 }).Call(p, 0)
		})
		many := make([]int, 10000)
		for name, f := range map[string]func(){
			"For":      func() { forkjoin.For(p, forkjoin.Range{End: 1}, func(*forkjoin.Pool, int, int) {}) },
			"Map":      func() { forkjoin.Map(p, many, func(_ *forkjoin.Pool, n int) int { return n }) },
			"Scan":     func() { forkjoin.Scan(p, many, func(a, b int) int { return a + b }) },
			"SortFunc": func() { forkjoin.SortFunc(p, many, cmp.Compare[int]) },
		} {
			t.Run(name, func(t *testing.T) { check.PanicsWith(t, forkjoin.ErrNotMade, f) })
		}
		assert.ErrorIs(t, p.Close(), forkjoin.ErrNotMade)
	}
	check.PanicsWith(t, forkjoin.ErrNotMade, func() { _, _ = new(forkjoin.Future[int]).Get() })
	check.PanicsWith(t, forkjoin.ErrNotMade, func() { new(forkjoin.Func[int, int]).Call(nil, 0) })
	check.PanicsWith(t, fibersync.ErrNilFunc, func() { forkjoin.NewFunc[int, int](nil) })
	_, err := forkjoin.New(nil, forkjoin.Config{})
	assert.ErrorIs(t, err, forkjoin.ErrNoScheduler)
	s, err := sched.New(sched.Config{})
	require.NoError(t, err)
	defer func() { assert.NoError(t, s.Close()) }()
	_, err = forkjoin.New(s, forkjoin.Config{Form: 3})
	assert.ErrorIs(t, err, forkjoin.ErrNoForm)
	_, err = forkjoin.New(s, forkjoin.Config{Form: -1})
	assert.ErrorIs(t, err, forkjoin.ErrNoForm)
	_, err = forkjoin.New(s, forkjoin.Config{Beat: -1})
	assert.ErrorIs(t, err, sched.ErrNegative)
	for _, form := range forkjoin.Forms() {
		parsed, err := forkjoin.ParseForm(form.String())
		assert.NoError(t, err)
		assert.Equal(t, form, parsed)
	}
	_, err = forkjoin.ParseForm("Form(3)")
	assert.ErrorIs(t, err, forkjoin.ErrNoForm)
	assert.ErrorContains(t, err, "heartbeat, deque, locked")
	assert.Equal(t, "Form(3)", forkjoin.Form(3).String())
}

// A Strand is bound to its stack and to its call. (Without debug it is not checked whose stack it is.)
func TestStrandElsewhere(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		var kept *forkjoin.Strand[int, int]
		f := forkjoin.NewFunc(func(s *forkjoin.Strand[int, int], n int) int {
			kept = s
			if n == 0 {
				return 1
			}
			if debug.On {
				outside(func() {
					assert.ErrorContains(t, panicOf(t, func() { s.Fork(0) }), "another stack")
					assert.ErrorContains(t, panicOf(t, func() { s.Join(0) }), "another stack")
				})
			}
			return s.Join(s.Fork(0))
		})
		assert.Equal(t, 1, f.Call(p, 1))
		if debug.On {
			assert.ErrorContains(t, panicOf(t, func() { kept.Fork(0) }), "another stack")
		} else {
			check.PanicsWith(t, forkjoin.ErrNotMade, func() { kept.Fork(0) })
			check.PanicsWith(t, forkjoin.ErrNotMade, func() { kept.Join(1) })
		}
		check.PanicsWith(t, forkjoin.ErrNotMade, func() { kept.Pool() })
	})
}

// Futures that have been fetched, by their maker or another task, hold no memory, although their maker goes on and many
// others wait.
func TestManyFuturesAreFreed(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		here := func(p *forkjoin.Pool, f func()) { f() }
		elsewhere := func(p *forkjoin.Pool, f func()) {
			_, _ = forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { f(); return 0, nil }).Get()
		}
		for where, fetch := range map[string]func(p *forkjoin.Pool, f func()){"by their maker": here, "by another " +
			"task": elsewhere} {
			use := func(p *forkjoin.Pool) (int, error) {
				const n = 1000
				futures := make([]*forkjoin.Future[int], n)
				held := make([]weak.Pointer[forkjoin.Future[int]], n)
				for i := range futures {
					futures[i] = forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { return i, nil })
					held[i] = weak.Make(futures[i])
				}
				last := forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { return n, nil })
				fetch(p, func() {
					for i, f := range futures {
						_, _ = f.Get()
						futures[i] = nil
					}
				})
				runtime.GC()
				left := 0
				for _, f := range held {
					if f.Value() != nil {
						left++
					}
				}
				assert.Less(t, left, n/4, "futures left that were fetched %s", where)
				_, _ = last.Get()
				return 0, nil
			}
			schedtest.Perform(t, s, func() { _, _ = use(p) })
			_, _ = forkjoin.Submit(p, use).Get()
		}
	})
}
