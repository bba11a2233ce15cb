package fibersync_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/park"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/leaks"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// If nothing can be started as a task, goroutines help.
func TestParallelizeWithoutAScheduler(t *testing.T) {
	asHelpless(t, func() {
		var calls atomic.Int64
		met := make(chan struct{})
		give := func() { met <- struct{}{}; calls.Add(1) }
		take := func() { <-met; calls.Add(1) }
		fibersync.Parallelize(give, take, take, give)
		assert.EqualValues(t, 4, calls.Load())
	})
}

func TestDAGWithoutAScheduler(t *testing.T) {
	asHelpless(t, func() {
		const width = 4
		var b fibersync.DAGBuilder[*fibersync.Latch]
		for range width {
			b.Node(func(all *fibersync.Latch) {
				all.CountDown()
				all.Wait()
			})
		}
		d, err := b.Build()
		require.NoError(t, err)
		d.Run(fibersync.NewLatch(width))
	})
}

// The more so if the caller ends before its time.
func TestParallelizeGoexitWithoutAScheduler(t *testing.T) {
	var calls atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		root, err := fiber.Attach(fiber.Goroutine)
		if !assert.NoError(t, err) {
			return
		}
		defer func() { assert.NoError(t, root.Detach()) }()
		root.SetValue(helpless{park.NewGoroutine()})
		me := fiber.Self()
		f := func() {
			calls.Add(1)
			if fiber.Self() == me {
				runtime.Goexit()
			}
		}
		fibersync.Parallelize(f, f, f)
		assert.Fail(t, "the caller goes on after Goexit")
	}()
	<-ended
	assert.EqualValues(t, 3, calls.Load())
}

// hoarder is a client that starts nothing before it parks.
type hoarder struct {
	park.Scheduled
	arena park.Arena
	queue []func()
	most  int
	token bool
	spare any
}

func newHoarder() *hoarder {
	h := new(hoarder)
	h.arena.Start = func(f func()) error {
		h.queue = append(h.queue, f)
		h.most = max(h.most, len(h.queue))
		return nil
	}
	return h
}

func (h *hoarder) WaiterSlot() *any   { return &h.spare }
func (h *hoarder) Arena() *park.Arena { return &h.arena }
func (h *hoarder) Unpark()            { h.token = true }
func (h *hoarder) CanPark() error     { return nil }

func (h *hoarder) Park(time.Time) {
	for !h.token && len(h.queue) > 0 {
		f := h.queue[0]
		h.queue = h.queue[1:]
		f()
	}
	h.token = false
}

// asHoarder calls f as a hoarder, and runs what is left then.
func asHoarder(t *testing.T, f func(t *testing.T, h *hoarder)) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		h := newHoarder()
		root.SetValue(h)
		f(t, h)
		root.SetValue(nil)
		assert.LessOrEqual(t, h.most, 1, "tasks that wait to begin")
		for len(h.queue) > 0 {
			h.Park(time.Time{})
		}
	})
}

// A caller that does everything itself leaves one task behind at most, however many forks it makes.
func TestParallelizeLeavesNoQueueFilled(t *testing.T) {
	asHoarder(t, func(t *testing.T, _ *hoarder) {
		forks := suite.Scaled(100_000, 10_000)
		calls := 0
		f := func() { calls++ }
		for range forks {
			fibersync.Parallelize(f, f)
			fibersync.Parallelize(f, func() { fibersync.Parallelize(f, f, f) }, f)
		}
		assert.Equal(t, 7*forks, calls)
	})
}

// Nor do helpers that have begun: each has started the next one for what is left, and what it calls forks again.
func TestHelpersLeaveNoQueueFilled(t *testing.T) {
	asHoarder(t, func(t *testing.T, _ *hoarder) {
		forks := suite.Scaled(10_000, 1_000)
		calls := 0
		f := func() { calls++ }
		for range forks {
			l := fibersync.NewLatch(2)
			byHelper := func() {
				fibersync.Parallelize(f, f, f)
				l.CountDown()
			}
			fibersync.Parallelize(l.Wait, byHelper, byHelper, f)
		}
		assert.Equal(t, 7*forks, calls)
	})
}

func TestDAGLeavesNoQueueFilled(t *testing.T) {
	asHoarder(t, func(t *testing.T, _ *hoarder) {
		runs := suite.Scaled(20_000, 2_000)
		calls := 0
		d := fan(t, 4, func(*int) { calls++ })
		for range runs {
			d.Run(&calls)
		}
		assert.Equal(t, 6*runs, calls)
	})
}

// fan is a graph of one node, so many after it, and one after these. All of them call f.
func fan[T any](t *testing.T, width int, f func(T)) *fibersync.DAG[T] {
	var b fibersync.DAGBuilder[T]
	root := b.Node(f)
	var middle []fibersync.NodeID
	for range width {
		middle = append(middle, b.Node(f, root))
	}
	b.Node(f, middle...)
	d, err := b.Build()
	require.NoError(t, err)
	return d
}

// The same in a task of each kind of scheduler: the queues are counted, and what workers have begun.
func TestForksLeaveSchedulersNoQueueFilled(t *testing.T) {
	suite.EachScheduler(t, []int{0, 1, 2}, func(t *testing.T, s *sched.Scheduler) {
		forks := suite.Scaled(40_000, 4_000)
		var calls atomic.Int64
		f := func() { calls.Add(1) }
		d := fan(t, 3, func(struct{}) { f() })
		most := 0
		loop := func() {
			for i := range forks {
				if fibersync.Parallelize(f, f); i%16 == 0 {
					d.Run(struct{}{})
					fibersync.Parallelize(f, f, func() { fibersync.Parallelize(f, f) }, f)
					most = max(most, s.Stats().Pending)
				}
			}
		}
		if s.Stats().Workers == nil {
			t.Fatal("no worker, and no goroutine is bound")
		}
		if sched.Get() == s {
			loop()
		} else {
			schedtest.Perform(t, s, loop)
		}
		assert.EqualValues(t, 2*forks+10*(forks/16), calls.Load())
		assert.LessOrEqual(t, most, 4, "tasks that wait to begin")
	})
}

// Goroutines help a caller without a scheduler. They do not pile up either, even if there is one processor.
func TestForksLeaveNoGoroutines(t *testing.T) {
	leaks.Check(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	f := func() {}
	d := fan(t, 3, func(struct{}) {})
	for name, fork := range map[string]func(){
		"Parallelize": func() { fibersync.Parallelize(f, f) },
		"DAG":         func() { d.Run(struct{}{}) },
	} {
		before, most := runtime.NumGoroutine(), 0
		for i := range suite.Scaled(200_000, 20_000) {
			if fork(); i%16 == 0 {
				most = max(most, runtime.NumGoroutine())
			}
		}
		assert.Less(t, most-before, 2000, "%s: goroutines that have not begun", name)
	}
}
