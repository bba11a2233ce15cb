package sched_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// inTime is the result of f, which fails the test if it does not return.
func inTime(t *testing.T, what string, f func() error) error {
	t.Helper()
	result := make(chan error, 1)
	go func() { result <- f() }()
	select {
	case err := <-result:
		return err
	case <-time.After(schedtest.Standstill):
		t.Fatalf("%s has not returned for %v", what, schedtest.Standstill)
		return nil
	}
}

// A deadline that lies far ahead, on the same worker or on another, hides no fiber that is blocked
// for good.
func TestFarDeadlineHidesNoDeadlock(t *testing.T) {
	suite.EachConfig(t, suite.SomeWorkers, func(t *testing.T, cfg sched.Config) {
		cfg.GiveUpAfter, cfg.Name = shortLimit, "the theatre"
		s, err := sched.New(cfg)
		require.NoError(t, err)
		p, late := schedtest.NewSleeper(), make(chan *sched.Fiber, 1)
		schedtest.Schedule(t, s, func() { waitForGodot(p) })
		schedtest.Schedule(t, s, func() {
			late <- sched.Current()
			assert.True(t, sched.Current().WaitFor(nil, time.Hour, nil))
		})
		p.Blocked()
		err = inTime(t, "Close", s.Close)
		requireDeadlock(t, err, 1)
		assert.ErrorContains(t, err, "and 1 with deadlines that are far ahead")
		f := <-late
		for f.State() != sched.Waiting {
			time.Sleep(time.Microsecond)
		}
		f.Notify()
		p.Wake()
		require.NoError(t, s.Close())
	})
}

// No fiber is blocked for good while a worker computes: it may notify any of them when it is
// through.
func TestBusyWorkerMayStillNotify(t *testing.T) {
	suite.EachConfig(t, suite.SomeWorkers, func(t *testing.T, cfg sched.Config) {
		cfg.GiveUpAfter = shorterLimit
		s, err := sched.New(cfg)
		require.NoError(t, err)
		require.NoError(t, s.Bind())
		here, there := schedtest.NewSleeper(), schedtest.NewSleeper()
		schedtest.ScheduleHere(t, s, here.Task)
		here.Blocked()
		schedtest.Schedule(t, s, func() {
			for end := time.Now().Add(5 * shorterLimit); time.Now().Before(end); {
			}
			here.Wake()
		})
		assert.NoError(t, sched.Unbind())
		schedtest.Schedule(t, s, there.Task)
		schedtest.Schedule(t, s, func() {
			for end := time.Now().Add(5 * shorterLimit); time.Now().Before(end); {
			}
			there.Wake()
		})
		require.NoError(t, s.Close())
	})
}

// Nor while a task's blocking call runs elsewhere, however long that takes.
func TestWhoseCallRunsMayStillNotify(t *testing.T) {
	suite.EachConfig(t, suite.SomeWorkers, func(t *testing.T, cfg sched.Config) {
		cfg.GiveUpAfter = shorterLimit
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			p := schedtest.NewSleeper()
			schedtest.Schedule(t, s, p.Task)
			schedtest.Schedule(t, s, func() {
				fibersync.BlockingCall(func() { time.Sleep(5 * shorterLimit) })
				p.Wake()
			})
		})
	})
}

// A goroutine that notifies after a report finds the scheduler as it was: the task goes on, and
// may still schedule others, on as many workers as before.
func TestReportLosesNoTask(t *testing.T) {
	suite.EachConfig(t, suite.SomeWorkers, func(t *testing.T, cfg sched.Config) {
		cfg.GiveUpAfter, cfg.Name = shortLimit, "the theatre"
		s, err := sched.New(cfg)
		require.NoError(t, err)
		p, after := schedtest.NewSleeper(), schedtest.NewLatch(1)
		schedtest.Schedule(t, s, func() {
			waitForGodot(p)
			schedtest.Schedule(t, s, after.Done)
		})
		requireDeadlock(t, s.Close(), 1)
		require.NoError(t, s.Bind())
		require.NoError(t, sched.Unbind())
		p.Wake()
		after.Wait()
		schedtest.HoldWorkers(t, s, cfg.Workers, func(int) {})
		require.NoError(t, s.Close())
	})
}

// Close also reports fibers that wait on goroutines that bind the scheduler.
func TestCloseReportsBoundGoroutinesThatAreBlocked(t *testing.T) {
	suite.EachConfig(t, []int{0, 2}, func(t *testing.T, cfg sched.Config) {
		cfg.GiveUpAfter, cfg.Name = shortLimit, "the theatre"
		s, err := sched.New(cfg)
		require.NoError(t, err)
		p, unbound := schedtest.NewSleeper(), make(chan struct{})
		go func() {
			defer close(unbound)
			assert.NoError(t, s.Bind())
			waitForGodot(p)
			assert.NoError(t, sched.Unbind())
		}()
		p.Begun.Wait()
		requireDeadlock(t, inTime(t, "Close", s.Close), 1)
		p.Wake()
		<-unbound
		require.NoError(t, s.Close())
	})
}

// The text of a report stays short, the report has all.
func TestReportIsBounded(t *testing.T) {
	suite.EachConfig(t, []int{2}, func(t *testing.T, cfg sched.Config) {
		const fibers = 3000
		cfg.GiveUpAfter, cfg.Name = shortLimit, "the theatre"
		s, err := sched.New(cfg)
		require.NoError(t, err)
		sleepers := make([]*schedtest.Sleeper, fibers)
		for i := range sleepers {
			sleepers[i] = schedtest.NewSleeper()
			if i%3 == 0 {
				schedtest.Schedule(t, s, func() { waitForGodot(sleepers[i]) })
			} else {
				schedtest.Schedule(t, s, func() { sleepers[i].Task() })
			}
		}
		for _, p := range sleepers {
			p.Begun.Wait()
		}
		err = s.Close()
		var d *sched.Deadlock
		require.ErrorAs(t, err, &d)
		assert.Len(t, d.Fibers, fibers)
		text := err.Error()
		assert.Less(t, strings.Count(text, "\n"), 30)
		assert.Less(t, len(text), 10_000)
		assert.Contains(t, text, "and 2980 more")
		for _, p := range sleepers {
			p.Wake()
		}
		require.NoError(t, s.Close())
	})
}

// The Watchdog reports a deadlock once, without Close, and again when there is another one.
func TestWatchdog(t *testing.T) {
	suite.EachConfig(t, suite.AnyWorkers, func(t *testing.T, cfg sched.Config) {
		cfg.Name, cfg.Watchdog = "the theatre", shorterLimit
		reports := make(chan *sched.Deadlock, 10)
		cfg.Deadlocked = func(d *sched.Deadlock) { reports <- d }
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			for range 2 {
				p := schedtest.NewSleeper()
				schedtest.Schedule(t, s, func() { waitForGodot(p) })
				woken := make(chan struct{})
				go func() {
					defer close(woken)
					d := <-reports
					assert.Equal(t, "the theatre", d.Scheduler)
					assert.Contains(
						t, d.Error(), "by sched.(*Fiber).Wait in fiberlab/tests/internal/schedtest.(*Sleeper).Task",
					)
					time.Sleep(3 * shorterLimit)
					assert.Empty(t, reports, "reported twice")
					p.Wake()
				}()
				p.Over.Wait()
				<-woken
			}
		})
		assert.Empty(t, reports)
	})
}
