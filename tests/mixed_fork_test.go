package tests

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
)

// If nothing can be started as a task, goroutines help.
func TestMixedParallelizeWithoutAScheduler(t *testing.T) {
	asHelpless(t, func() {
		var calls atomic.Int64
		met := make(chan struct{})
		give := func() { met <- struct{}{}; calls.Add(1) }
		take := func() { <-met; calls.Add(1) }
		fibersync.Parallelize(give, take, take, give)
		assert.EqualValues(t, 4, calls.Load())
	})
}

// The more so if the caller ends before its time.
func TestMixedParallelizeGoexitWithoutAScheduler(t *testing.T) {
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

// hoarder is a party that starts nothing before it parks.
type hoarder struct {
	park.Parker
	queue []func()
	most  int
	token bool
	spare any
}

func (h *hoarder) WaiterSlot() *any { return &h.spare }

func (h *hoarder) Start(f func()) error {
	h.queue = append(h.queue, f)
	h.most = max(h.most, len(h.queue))
	return nil
}

func (h *hoarder) Unpark() { h.token = true }

func (h *hoarder) Park(time.Time) {
	for ; !h.token && len(h.queue) > 0; h.queue = h.queue[1:] {
		h.queue[0]()
	}
	h.token = false
}

// A caller that does everything itself must not fill its scheduler's queue without bound.
func TestMixedParallelizeLetsTheQueueComeRound(t *testing.T) {
	const most = 5000
	forks := scaled(100_000, 2*most)
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		h := &hoarder{}
		root.SetValue(h)
		calls := 0
		f := func() { calls++ }
		for range forks {
			fibersync.Parallelize(f, f)
		}
		root.SetValue(nil)
		assert.Equal(t, 2*forks, calls)
		assert.Less(t, h.most, most)
		for _, f := range h.queue {
			f()
		}
	})
}

// The helpers of one scheduler that lie in its queue are nothing to another: a caller there does
// not wait until its own have begun, and so lets no other task of its worker begin.
func TestMixedParallelizeIsNotHeldUpByAnotherScheduler(t *testing.T) {
	eachScheduler(t, oneThread, func(t *testing.T, s *sched.Scheduler) {
		full, err := sched.New(sched.Config{Workers: 1})
		require.NoError(t, err)
		defer func() { assert.NoError(t, full.Close()) }()
		held, release := newLatch(1), make(chan struct{})
		schedule(t, full, func() {
			for range 1025 {
				fibersync.Parallelize(func() {}, func() {})
			}
			held.done()
			<-release
		})
		held.wait()
		defer close(release)
		perform(t, s, func() {
			begun := false
			scheduleHere(t, s, func() { begun = true })
			fibersync.Parallelize(func() {}, func() {})
			assert.False(t, begun, "the caller has waited for its helper")
		})
	})
}
