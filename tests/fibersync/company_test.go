package fibersync_test

import (
	"runtime"
	"testing"

	"fiberlab/sched"
	"fiberlab/tests/internal/leaks"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// mixedWorkers are the numbers of workers that the tests of primitives run with. Under
// -short and in an emulator two will do, but the race detector has what suite.Over leaves of all.
func mixedWorkers() []int {
	if (testing.Short() || suite.Slow()) && !suite.RaceDetector {
		return []int{0, 2}
	}
	return []int{0, 1, 2, 8}
}

// company is the set of clients of a test of primitives: tasks, goroutines, or both in turn.
type company struct {
	t     *testing.T
	s     *sched.Scheduler // nil: goroutines only
	mixed bool
	count int // of those started by start
	ended []*schedtest.Latch

	enqueue func(sched.Task) error // how its tasks are enqueued; nil: by s.Enqueue
}

// eachCompany runs test with fibers only and with fibers and goroutines mixed, for
// every backend and number of workers, and with goroutines only. The test's own
// goroutine is bound, and so a fiber, if there are no workers. Test starts the others
// by start, task and goroutine; eachCompany waits for them and checks that nothing is left.
func eachCompany(t *testing.T, test func(c *company)) {
	t.Helper()
	t.Run("goroutines", func(t *testing.T) {
		leaks.Check(t)
		meet(&company{t: t}, test)
	})
	suite.EachConfig(t, mixedWorkers(), func(t *testing.T, cfg sched.Config) {
		for _, mixed := range []bool{false, true} {
			name := map[bool]string{false: "fibers", true: "mixed"}[mixed]
			t.Run(name, func(t *testing.T) {
				suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
					meet(&company{t: t, s: s, mixed: mixed}, test)
				})
			})
		}
	})
}

func meet(c *company, test func(c *company)) {
	test(c)
	c.wait()
}

// start calls f as the next client: a task or a goroutine, in turn if the company has both.
func (c *company) start(f func()) {
	c.count++
	if c.s == nil || c.mixed && c.count%2 == 0 {
		c.goroutine(f)
	} else {
		c.task(f)
	}
}

// goroutine calls f on a plain goroutine.
func (c *company) goroutine(f func()) {
	over := c.expect()
	go func() {
		defer over.Done()
		f()
	}()
}

// task calls f as a task, or on a goroutine if the company has no scheduler.
func (c *company) task(f func()) {
	if c.s == nil {
		c.goroutine(f)
		return
	}
	enqueue := c.enqueue
	if enqueue == nil {
		enqueue = c.s.Enqueue
	}
	over := c.expect()
	err := enqueue(sched.Task{Func: func() {
		defer over.Done()
		f()
	}})
	if err != nil {
		over.Done()
		c.t.Error(err)
	}
}

// perform calls f as a task of the company, which must have a scheduler, and returns when it has returned.
func (c *company) perform(f func()) {
	over := schedtest.NewLatch(1)
	c.task(func() {
		defer over.Done()
		f()
	})
	over.Wait()
}

func (c *company) expect() *schedtest.Latch {
	over := schedtest.NewLatch(1)
	c.ended = append(c.ended, over)
	return over
}

// wait returns when all clients that were started have ended. The caller must be the goroutine
// that runs the test.
func (c *company) wait() {
	for _, over := range c.ended {
		over.Wait()
	}
	c.ended = nil
}

// pause lets others run first; any client may call it. It orders nothing.
func pause() {
	if sched.Current() != nil {
		sched.Yield()
		return
	}
	runtime.Gosched()
}

// benchCompany is schedtest.BenchOn with one worker. run is called on
// a plain goroutine; together starts each of the given functions as a task of the one
// worker and returns when all have returned.
func benchCompany(b *testing.B, run func(b *testing.B, together func(bodies ...func()))) {
	benchWorkers(b, []int{1}, run)
}

// benchWorkers is benchCompany with these numbers of workers.
func benchWorkers(b *testing.B, workers []int, run func(b *testing.B, together func(bodies ...func()))) {
	schedtest.BenchOn(b, workers, func(b *testing.B, s *sched.Scheduler) {
		run(b, func(bodies ...func()) { startTogether(bodies, func(f func()) { schedtest.Enqueue(b, s, f) }) })
	})
}

// benchRival runs the sub-benchmark schedtest.Goroutines, the same with goroutines.
func benchRival(b *testing.B, run func(b *testing.B, together func(bodies ...func()))) {
	b.Run(schedtest.Goroutines, func(b *testing.B) {
		run(b, func(bodies ...func()) { startTogether(bodies, func(f func()) { go f() }) })
	})
}

func startTogether(bodies []func(), start func(f func())) {
	c := schedtest.NewCountdown(len(bodies))
	for _, body := range bodies {
		start(func() {
			body()
			c.Done()
		})
	}
	c.Wait()
}
