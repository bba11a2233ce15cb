package ctask_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/tests/internal/crash"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
	"fiberlab/tests/internal/trapbody"
)

// Tasks wait and yield in callbacks from C.
func TestTasksWaitInCallbacks(t *testing.T) {
	over := suite.Over{Backends: suite.HandSwitched, Workers: []int{1, 2, 4}}
	over.Run(t, func(t *testing.T, cfg sched.Config) {
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			n := suite.Scaled(40, 10)
			over := schedtest.NewLatch(2 * n)
			var mu sync.Mutex
			for range n {
				schedtest.Schedule(t, s, func() {
					defer over.Done()
					trapbody.Nest(2, func() {
						sched.Yield()
						sched.Sleep(100 * time.Microsecond)
						mu.Lock()
						defer mu.Unlock()
						assert.False(t, sched.Current().WaitFor(&mu, time.Millisecond, func() bool { return false }))
					})
				})
				schedtest.Schedule(t, s, func() {
					defer over.Done()
					sched.Yield()
					trapbody.Nest(1, sched.Yield)
					f := sched.Current()
					woken := false
					trapbody.Nest(1, func() {
						go func() {
							mu.Lock()
							defer mu.Unlock()
							woken = true
							f.Notify()
						}()
						mu.Lock()
						defer mu.Unlock()
						f.Wait(&mu, func() bool { return woken })
					})
					assert.Same(t, f, sched.Current())
				})
			}
			over.Wait()
		})
	})
}

var childWaitsInCallback = crash.NewTask("task waits in a callback", func() {
	_ = sched.Schedule(func() {}, sched.SameThread)
	trapbody.Nest(1, sched.Yield)
})

// On the goroutine backend a task cannot hand its thread on in a callback from C. That ends the program.
func TestWaitInACallbackOnGoroutines(t *testing.T) {
	over := suite.Over{Backends: []fiber.Backend{fiber.Goroutine}, Workers: []int{0, 1}, Only: suite.HasThreads}
	for _, cfg := range over.Configs(t.Name()) {
		t.Run(suite.Name(cfg), func(t *testing.T) {
			t.Parallel()
			out := crash.RunTask(t, childWaitsInCallback, cfg)
			require.Regexp(t, `worker 0 fiber \d+ cannot hand its thread to scheduler worker 0 fiber \d+: `, out)
			require.Contains(t, out, fiber.ErrLocked.Error())
		})
	}
}

// A task that is blocked in a callback from C on the goroutine backend cannot hand its thread on. A report lists it and
// the others all the same.
func TestDeadlockCheckWhileATaskWaitsInACallback(t *testing.T) {
	over := suite.Over{Workers: []int{1}, Only: func(cfg sched.Config) bool {
		return cfg.Backend != fiber.Goroutine || suite.Stay(cfg)
	}}
	over.Run(t, func(t *testing.T, cfg sched.Config) {
		cfg.GiveUpAfter = 10 * time.Millisecond
		cfg.Exhausted = func(error) {}
		s, err := sched.New(cfg)
		require.NoError(t, err)
		blocked := schedtest.NewLatch(2)
		var open atomic.Bool
		fibers := make(chan *sched.Fiber, 2)
		wait := func() {
			var mu sync.Mutex
			mu.Lock()
			defer mu.Unlock()
			fibers <- sched.Current()
			blocked.Done()
			sched.Current().Wait(&mu, open.Load)
		}
		require.NoError(t, s.Go(wait))
		require.NoError(t, s.Go(func() { trapbody.Nest(1, wait) }))
		blocked.Wait()
		var deadlock *sched.Deadlock
		assert.ErrorAs(t, s.Close(), &deadlock)
		assert.Len(t, deadlock.Fibers, 2)
		open.Store(true)
		first, inCallback := <-fibers, <-fibers
		inCallback.Notify() // first: it cannot hand its thread on
		first.Notify()
		require.NoError(t, s.Close())
	})
}
