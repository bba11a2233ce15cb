package tests

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

// inTime is the result of f, which fails the test if it does not return.
func inTime(t *testing.T, what string, f func() error) error {
	t.Helper()
	result := make(chan error, 1)
	go func() { result <- f() }()
	select {
	case err := <-result:
		return err
	case <-time.After(patience):
		t.Fatalf("%s has not returned for %v", what, patience)
		return nil
	}
}

// A deadline that lies far ahead, on the same worker or on another, hides none who is blocked
// for good.
func TestFarDeadlineHidesNoDeadlock(t *testing.T) {
	eachConfig(t, someWorkers, func(t *testing.T, cfg sched.Config) {
		cfg.Patience, cfg.Name = impatient, "the theatre"
		s, err := sched.New(cfg)
		require.NoError(t, err)
		p, late := newSleeper(), make(chan *sched.Fiber, 1)
		schedule(t, s, func() { waitForGodot(p) })
		schedule(t, s, func() {
			late <- sched.Current()
			assert.True(t, sched.Current().WaitFor(nil, time.Hour, nil))
		})
		p.blocked()
		err = inTime(t, "Close", s.Close)
		requireDeadlock(t, err, 1)
		assert.ErrorContains(t, err, "and 1 with deadlines that are far ahead")
		f := <-late
		for f.State() != sched.Waiting {
			time.Sleep(time.Microsecond)
		}
		f.Notify()
		p.wake()
		require.NoError(t, s.Close())
	})
}

// Nobody is blocked for good while a worker computes: it may notify whom it likes when it is
// through.
func TestWhoComputesMayStillNotify(t *testing.T) {
	eachConfig(t, someWorkers, func(t *testing.T, cfg sched.Config) {
		cfg.Patience = impatient
		s, err := sched.New(cfg)
		require.NoError(t, err)
		require.NoError(t, s.Bind())
		here, there := newSleeper(), newSleeper()
		scheduleHere(t, s, here.task)
		here.blocked()
		schedule(t, s, func() {
			for end := time.Now().Add(5 * impatient); time.Now().Before(end); {
			}
			here.wake()
		})
		assert.NoError(t, sched.Unbind())
		schedule(t, s, there.task)
		schedule(t, s, func() {
			for end := time.Now().Add(5 * impatient); time.Now().Before(end); {
			}
			there.wake()
		})
		require.NoError(t, s.Close())
	})
}

// Nor while a task's blocking call runs elsewhere, however long that takes.
func TestWhoseCallRunsMayStillNotify(t *testing.T) {
	eachConfig(t, someWorkers, func(t *testing.T, cfg sched.Config) {
		cfg.Patience = impatient
		onScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			p := newSleeper()
			schedule(t, s, p.task)
			schedule(t, s, func() {
				fibersync.BlockingCall(func() { time.Sleep(5 * impatient) })
				p.wake()
			})
		})
	})
}

// A goroutine that notifies after a report finds the scheduler as it was: the task goes on, and
// may still schedule others, on as many workers as before.
func TestReportLosesNoTask(t *testing.T) {
	eachConfig(t, someWorkers, func(t *testing.T, cfg sched.Config) {
		cfg.Patience, cfg.Name = impatient, "the theatre"
		s, err := sched.New(cfg)
		require.NoError(t, err)
		p, after := newSleeper(), newLatch(1)
		schedule(t, s, func() {
			waitForGodot(p)
			schedule(t, s, after.done)
		})
		requireDeadlock(t, s.Close(), 1)
		require.NoError(t, s.Bind())
		require.NoError(t, sched.Unbind())
		p.wake()
		after.wait()
		holdWorkers(t, s, cfg.Workers, func(int) {})
		require.NoError(t, s.Close())
	})
}

// Close looks after those who wait on goroutines that bind the scheduler, too.
func TestCloseReportsBoundGoroutinesThatAreBlocked(t *testing.T) {
	eachConfig(t, []int{0, 2}, func(t *testing.T, cfg sched.Config) {
		cfg.Patience, cfg.Name = impatient, "the theatre"
		s, err := sched.New(cfg)
		require.NoError(t, err)
		p, unbound := newSleeper(), make(chan struct{})
		go func() {
			defer close(unbound)
			assert.NoError(t, s.Bind())
			waitForGodot(p)
			assert.NoError(t, sched.Unbind())
		}()
		p.begun.wait()
		requireDeadlock(t, inTime(t, "Close", s.Close), 1)
		p.wake()
		<-unbound
		require.NoError(t, s.Close())
	})
}

// The text of a report stays short, the report has all.
func TestReportIsBounded(t *testing.T) {
	eachConfig(t, []int{2}, func(t *testing.T, cfg sched.Config) {
		const fibers = 3000
		cfg.Patience, cfg.Name = impatient, "the theatre"
		s, err := sched.New(cfg)
		require.NoError(t, err)
		sleepers := make([]*sleeper, fibers)
		for i := range sleepers {
			sleepers[i] = newSleeper()
			if i%3 == 0 {
				schedule(t, s, func() { waitForGodot(sleepers[i]) })
			} else {
				schedule(t, s, func() { sleepers[i].task() })
			}
		}
		for _, p := range sleepers {
			p.begun.wait()
		}
		err = s.Close()
		var d *sched.Deadlock
		require.ErrorAs(t, err, &d)
		assert.Len(t, d.Fibers, fibers)
		text := err.Error()
		assert.Less(t, strings.Count(text, "\n"), 30)
		assert.Less(t, len(text), 10_000)
		assert.Contains(t, text, "and 2980 more, at ")
		for _, p := range sleepers {
			p.wake()
		}
		require.NoError(t, s.Close())
	})
}

// The watchdog reports a deadlock once, without Close, and again when there is another one.
func TestWatchdog(t *testing.T) {
	eachConfig(t, anyWorkers, func(t *testing.T, cfg sched.Config) {
		cfg.Name, cfg.Watchdog = "the theatre", impatient
		reports := make(chan *sched.Deadlock, 10)
		cfg.Deadlocked = func(d *sched.Deadlock) { reports <- d }
		onScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			for range 2 {
				p := newSleeper()
				schedule(t, s, func() { waitForGodot(p) })
				woken := make(chan struct{})
				go func() {
					defer close(woken)
					d := <-reports
					assert.Equal(t, "the theatre", d.Scheduler)
					assert.Contains(t, d.Error(), "by sched.(*Fiber).Wait in fiberlab/tests.(*sleeper).task")
					time.Sleep(3 * impatient)
					assert.Empty(t, reports, "reported twice")
					p.wake()
				}()
				p.over.wait()
				<-woken
			}
		})
		assert.Empty(t, reports)
	})
}
