package ctask_test

import (
	"regexp"
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

// Tasks wait and yield in callbacks from C. On the goroutine backend their worker waits with them,
// and says so.
func TestTasksWaitInCallbacks(t *testing.T) {
	suite.EachConfig(t, []int{1, 2, 4}, func(t *testing.T, cfg sched.Config) {
		var told schedtest.Journal[error]
		cfg.Exhausted = told.Add
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			n := suite.Scaled(40, 10)
			if !suite.HasThreads(cfg) {
				n = 10 // each that waits in C keeps a thread, and the runtime keeps all that it ever had
			}
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
		for _, err := range told.All() {
			assert.Equal(t, fiber.Goroutine, cfg.Backend)
			assert.ErrorIs(t, err, fiber.ErrLocked)
		}
	})
}

// A task that is blocked in a callback from C on the goroutine backend cannot hand its thread to the fibers that a
// deadlock check asks. So they are listed without their places.
func TestDeadlockCheckWhileATaskWaitsInACallback(t *testing.T) {
	suite.EachConfig(t, []int{1}, func(t *testing.T, cfg sched.Config) {
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
		for range 2 {
			(<-fibers).Notify()
		}
		require.NoError(t, s.Close())
	})
}

var childTaskOverflows = crash.NewTask("task overflows", trapbody.Overflow)

// A worker's first fiber has its thread's own stack. An overflow of that is reported like the others. Where fibers may
// migrate it begins no task.
func TestTaskOverflowsThread(t *testing.T) {
	report := regexp.MustCompile(`(?m)^fiberlab: stack overflow on fiber "scheduler worker \d fiber 0": ` +
		`its C stack, the thread's own of some \d+ bytes, ran out at 0x[0-9a-f]+; raise the limit`)
	over := suite.Over{Backends: suite.HandSwitched, Workers: []int{2}, Only: suite.Stay}
	for _, cfg := range over.Configs(t.Name()) {
		t.Run(suite.Name(cfg), func(t *testing.T) {
			t.Parallel()
			out := crash.RunTask(t, childTaskOverflows, cfg)
			require.Regexp(t, report, out)
			crash.RequireGoReport(t, out)
		})
	}
}
