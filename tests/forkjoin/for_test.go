package forkjoin_test

import (
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/forkjoin"
	"fiberlab/tests/internal/check"
	"fiberlab/tests/internal/forktest"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// randomRange returns a range of less than most integers.
func randomRange(random *rand.Rand, most int) forkjoin.Range {
	r := forkjoin.Range{Begin: random.IntN(2*most) - most}
	r.End = r.Begin + random.IntN(most)
	switch random.IntN(4) {
	case 0:
		r.Grain = 1 + random.IntN(10)
	case 1:
		r.Grain = 1 + random.IntN(most)
	case 2:
		r.Grain = math.MaxInt - random.IntN(2)
	}
	return r
}

// nowAndThen parks the caller, or lets another goroutine run, one time in n.
func nowAndThen(random uint32, n uint32) {
	if random%n == 0 {
		pause()
	}
}

func pause() {
	if sched.Current() != nil {
		sched.Yield()
	}
}

// Each integer is in one part. No part is empty, nor larger than the grain.
func TestForCallsTheBodyForEach(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		random := suite.NewRand(t)
		for range 5 {
			r := randomRange(random, suite.Scaled(3000, 300))
			forktest.FromEach(t, s, p, func(p *forkjoin.Pool) {
				calls := make([]atomic.Int32, r.End-r.Begin)
				forkjoin.For(p, r, func(_ *forkjoin.Pool, begin, end int) {
					assert.Less(t, begin, end, "an empty part of %+v", r)
					if r.Grain > 0 {
						assert.LessOrEqual(t, end-begin, r.Grain, "a part of %+v", r)
					}
					nowAndThen(rand.Uint32(), 50)
					for i := begin; i < end; i++ {
						calls[i-r.Begin].Add(1)
					}
				})
				for i := range calls {
					if n := calls[i].Load(); n != 1 {
						assert.EqualValues(t, 1, n, "%d of %+v", r.Begin+i, r)
						break
					}
				}
			})
		}
	})
}

// A range may begin and end at the least and the greatest int. It may have more integers than an int can count.
func TestForAtTheEndsOfInt(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, _ *sched.Scheduler, p *forkjoin.Pool) {
		for _, r := range []forkjoin.Range{
			{Begin: math.MaxInt - 5, End: math.MaxInt},
			{Begin: math.MaxInt - 5, End: math.MaxInt, Grain: 2},
			{Begin: math.MaxInt - 5, End: math.MaxInt, Grain: math.MaxInt},
			{Begin: math.MinInt, End: math.MinInt + 7},
			{Begin: math.MinInt, End: math.MinInt + 7, Grain: math.MaxInt},
			{Begin: math.MinInt, End: math.MaxInt, Grain: math.MaxInt/1000 + 1},
		} {
			var count atomic.Uint64
			forkjoin.For(p, r, func(_ *forkjoin.Pool, begin, end int) {
				assert.True(
					t, r.Begin <= begin && begin < end && end <= r.End, "the part from %d to %d of %+v", begin, end, r,
				)
				count.Add(uint64(end) - uint64(begin))
			})
			assert.Equal(t, uint64(r.End)-uint64(r.Begin), count.Load(), "%+v", r)
		}
	})
}

func TestForOfNothing(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, _ *sched.Scheduler, p *forkjoin.Pool) {
		for _, r := range []forkjoin.Range{
			{}, {Begin: 1}, {Begin: math.MaxInt, End: math.MinInt}, {Begin: 3, End: 3, Grain: 1},
		} {
			forkjoin.For(
				p, r, func(_ *forkjoin.Pool, begin, end int) { t.Errorf("a part from %d to %d of %+v", begin, end, r) },
			)
		}
	})
}

// When the fiber of a part parks, others go on with what has not begun. The second part ends the wait of the first.
func TestForLeavesTheRestToOthers(t *testing.T) {
	forktest.EachConfig(
		t, suite.Over{Workers: []int{1, 2, 8}},
		func(t *testing.T, cfg sched.Config, form forkjoin.Form) {
			forktest.OnPool(
				t, cfg, forkjoin.Config{Form: form},
				func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
					schedtest.Perform(t, s, func() {
						second := fibersync.NewLatch(1)
						forkjoin.For(p, forkjoin.Range{End: 2}, func(_ *forkjoin.Pool, begin, _ int) {
							if begin == 0 {
								second.Wait()
							} else {
								second.CountDown()
							}
						})
					})
				},
			)
		},
	)
}

func TestForNests(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		const n = 30
		forktest.FromEach(t, s, p, func(p *forkjoin.Pool) {
			var sum atomic.Int64
			forkjoin.For(p, forkjoin.Range{End: n}, func(p *forkjoin.Pool, begin, end int) {
				for i := begin; i < end; i++ {
					forkjoin.For(p, forkjoin.Range{End: i, Grain: 4}, func(_ *forkjoin.Pool, begin, end int) {
						nowAndThen(rand.Uint32(), 50)
						for j := begin; j < end; j++ {
							sum.Add(int64(i * j))
						}
					})
				}
			})
			want := 0
			for i := range n {
				want += i * i * (i - 1) / 2
			}
			assert.EqualValues(t, want, sum.Load())
		})
	})
}

// Misuse is a panic that says what is wrong, even where there is nothing to do.
func TestMisuseOfLoops(t *testing.T) {
	forktest.EachConfig(t, suite.Over{Workers: []int{1}}, func(t *testing.T, cfg sched.Config, form forkjoin.Form) {
		forktest.OnPool(t, cfg, forkjoin.Config{Form: form}, func(t *testing.T, _ *sched.Scheduler, p *forkjoin.Pool) {
			ctx := t.Context()
			none, bad := forkjoin.Range{}, forkjoin.Range{Grain: -1}
			for _, nilFunc := range []struct {
				call string
				f    func()
			}{
				{"For", func() { forkjoin.For(p, none, nil) }},
				{"ForContext", func() { _ = forkjoin.ForContext(ctx, p, none, nil) }},
				{"Map", func() { forkjoin.Map[int, int](p, nil, nil) }},
				{"MapContext", func() { _, _ = forkjoin.MapContext[int, int](ctx, p, nil, nil) }},
				{"Reduce", func() { forkjoin.Reduce(p, none, nil, addInts) }},
				{"Reduce", func() { forkjoin.Reduce[int](p, none, func(*forkjoin.Pool, int, int) int { return 0 }, nil) }},
				{"ReduceContext", func() { _, _ = forkjoin.ReduceContext[int](ctx, p, none, nil, nil) }},
				{"Scan", func() { forkjoin.Scan[int](p, nil, nil) }},
				{"ScanContext", func() { _, _ = forkjoin.ScanContext[int](ctx, p, nil, nil) }},
				{"SortFunc", func() { forkjoin.SortFunc[[]int](p, nil, nil) }},
				{"SortFuncContext", func() { _ = forkjoin.SortFuncContext[[]int](ctx, p, nil, nil) }},
				{"SortStableFunc", func() { forkjoin.SortStableFunc[[]int](p, nil, nil) }},
				{"SortStableFuncContext", func() { _ = forkjoin.SortStableFuncContext[[]int](ctx, p, nil, nil) }},
				{"JoinContext", func() { _, _, _ = forkjoin.JoinContext[int, int](ctx, p, nil, nil) }},
			} {
				err := panicOf(t, nilFunc.f)
				assert.ErrorIs(t, err, fibersync.ErrNilFunc)
				assert.ErrorContains(t, err, "forkjoin: "+nilFunc.call+": ")
			}
			for _, f := range []func(){
				func() { forkjoin.For(p, bad, func(*forkjoin.Pool, int, int) {}) },
				func() { _ = forkjoin.ForContext(ctx, p, bad, noBody) },
				func() { forkjoin.Reduce(p, bad, func(*forkjoin.Pool, int, int) int { return 0 }, addInts) },
			} {
				check.PanicsWith(t, fibersync.ErrNegative, f)
			}
			for name, call := range withContext {
				err := panicOf(t, func() { _ = call(nil, p, 1, func() {}) })
				assert.ErrorIs(t, err, fibersync.ErrNilContext)
				assert.ErrorContains(t, err, "forkjoin: "+name+": ")
			}
		})
	})
}
