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
func TestParallelizeLetsTheQueueComeRound(t *testing.T) {
	const most = 5000
	forks := suite.Scaled(100_000, 2*most)
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
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
func TestParallelizeIsNotHeldUpByAnotherScheduler(t *testing.T) {
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
		full, err := sched.New(sched.Config{Workers: 1})
		require.NoError(t, err)
		defer func() { assert.NoError(t, full.Close()) }()
		held, release := schedtest.NewLatch(1), make(chan struct{})
		schedtest.Schedule(t, full, func() {
			for range 1025 {
				fibersync.Parallelize(func() {}, func() {})
			}
			held.Done()
			<-release
		})
		held.Wait()
		defer close(release)
		schedtest.Perform(t, s, func() {
			begun := false
			schedtest.ScheduleHere(t, s, func() { begun = true })
			fibersync.Parallelize(func() {}, func() {})
			assert.False(t, begun, "the caller has waited for its helper")
		})
	})
}
