package sched_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// shortLimit is the give-up limit of tests that expect a deadlock report.
const shortLimit = 20 * time.Millisecond

// shorterLimit is that limit, or the time of the watchdog, where a report that comes early would be wrong, however
// short the time is.
const shorterLimit = shortLimit / 4

// waitForGodot blocks its task until it is woken. It is the place that reports name.
//
//go:noinline
func waitForGodot(p *schedtest.Sleeper) { p.Task() }

// requireDeadlock checks that err is a report of so many fibers that wait for Godot.
func requireDeadlock(t *testing.T, err error, fibers int) {
	t.Helper()
	require.ErrorIs(t, err, sched.ErrDeadlock)
	var d *sched.Deadlock
	require.ErrorAs(t, err, &d)
	require.Equal(t, "the theatre", d.Scheduler)
	require.Contains(t, err.Error(), "the theatre")
	require.Len(t, d.Fibers, fibers, err)
	for _, f := range d.Fibers {
		require.NotEmpty(t, f.Stack)
		var names []string
		for _, frame := range f.Stack {
			names = append(names, frame.Function)
		}
		require.Contains(t, names, "fiberlab/tests/sched_test.waitForGodot")
		require.Contains(t, err.Error(), f.String())
		require.Contains(t, f.String(), "sleeper.go")
	}
}

// Close reports what is blocked without end, again and again, leaves it alone, and succeeds once it has been notified.
func TestCloseReportsDeadlock(t *testing.T) {
	suite.EachConfig(t, suite.SomeWorkers, func(t *testing.T, cfg sched.Config) {
		cfg.GiveUpAfter, cfg.Name = shortLimit, "the theatre"
		for _, fibers := range []int{1, 10} {
			s, err := sched.New(cfg)
			require.NoError(t, err)
			sleepers := make([]*schedtest.Sleeper, fibers)
			for i := range sleepers {
				sleepers[i] = schedtest.NewSleeper()
				schedtest.Schedule(t, s, func() { waitForGodot(sleepers[i]) })
			}
			for _, p := range sleepers {
				p.Blocked()
			}
			requireDeadlock(t, s.Close(), fibers)
			schedtest.Perform(t, s, func() {}) // it can be used as before
			requireDeadlock(t, s.Close(), fibers)
			sleepers[0].Wake()
			sleepers[0].Over.Wait()
			if fibers > 1 {
				requireDeadlock(t, s.Close(), fibers-1)
			}
			for _, p := range sleepers[1:] {
				p.Wake()
			}
			require.NoError(t, s.Close())
			for _, p := range sleepers {
				assert.True(t, p.Over.IsOpen())
			}
		}
	})
}

// Unbind does the same.
func TestUnbindReportsDeadlock(t *testing.T) {
	suite.EachConfig(t, []int{0, 1, 4}, func(t *testing.T, cfg sched.Config) {
		cfg.GiveUpAfter, cfg.Name = shortLimit, "the theatre"
		for _, begun := range []bool{true, false} {
			s, err := sched.New(cfg)
			require.NoError(t, err)
			require.NoError(t, s.Bind())
			thread := tid()
			sleepers := make([]*schedtest.Sleeper, 5)
			for i := range sleepers {
				sleepers[i] = schedtest.NewSleeper()
				schedtest.ScheduleHere(t, s, func() {
					waitForGodot(sleepers[i])
					assert.Equal(t, thread, tid())
				})
				if begun {
					sleepers[i].Blocked()
				}
			}
			requireDeadlock(t, sched.Unbind(), len(sleepers))
			assert.Same(t, s, sched.Get())
			requireDeadlock(t, sched.Unbind(), len(sleepers))
			for i, p := range sleepers {
				p.Wake()
				if i == 0 {
					p.Over.Wait() // it is still a worker
					requireDeadlock(t, sched.Unbind(), len(sleepers)-1)
				}
			}
			require.NoError(t, sched.Unbind())
			require.NoError(t, s.Close())
		}
	})
}

// A report names what a task waits for, though its function is a method of fibersync itself.
func TestReportOfNamedTask(t *testing.T) {
	s, err := sched.New(sched.Config{Workers: 1, GiveUpAfter: shortLimit})
	require.NoError(t, err)
	var m fibersync.Mutex
	m.Lock()
	require.NoError(t, s.Enqueue(sched.Task{Name: "Estragon", Func: m.Lock}))
	err = s.Close()
	require.ErrorIs(t, err, sched.ErrDeadlock)
	assert.Regexp(t, `\(Estragon\): Yielded by fibersync\.\(\*Mutex\)\.Lock\S* of .*: unlock it`, err)
	m.Unlock()
	require.NoError(t, s.Close())
}

// A goroutine may notify while Close waits: no fiber is reported then.
func TestNotifyDuringClose(t *testing.T) {
	suite.EachConfig(t, suite.SomeWorkers, func(t *testing.T, cfg sched.Config) {
		cfg.GiveUpAfter = schedtest.Standstill // a goroutine may come late on a slow machine
		s, err := sched.New(cfg)
		require.NoError(t, err)
		var over sync.WaitGroup
		for range 20 {
			p := schedtest.NewSleeper()
			schedtest.Schedule(t, s, func() { waitForGodot(p) })
			over.Add(1)
			go func() {
				defer over.Done()
				p.Wake()
			}()
		}
		require.NoError(t, s.Close())
		over.Wait()
	})
}

// A deadline is no deadlock, however long it takes compared to the Standstill.
func TestDeadlineIsNoDeadlock(t *testing.T) {
	suite.EachConfig(t, suite.AnyWorkers, func(t *testing.T, cfg sched.Config) {
		cfg.GiveUpAfter = time.Microsecond
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			schedtest.Schedule(t, s, func() {
				p := schedtest.NewSleeper()
				schedtest.ScheduleHere(t, s, p.Task)
				p.Begun.Wait()
				sched.Sleep(5 * time.Millisecond)
				p.Wake()
			})
		})
	})
}

// A blocking call whose caller waits for it no longer may still wake a fiber: as long as it runs there is no deadlock.
func TestAbandonedCallIsNoDeadlock(t *testing.T) {
	suite.EachConfig(t, suite.SomeWorkers, func(t *testing.T, cfg sched.Config) {
		cfg.GiveUpAfter = time.Millisecond
		s, err := sched.New(cfg)
		require.NoError(t, err)
		wakes := false
		var event fibersync.Event
		release := make(chan struct{})
		schedtest.Schedule(t, s, event.Wait)
		schedtest.Perform(t, s, func() {
			ctx, cancel := context.WithCancel(context.Background())
			err := fibersync.BlockingCallContext(ctx, func() {
				cancel()
				<-release
				if wakes {
					event.Signal()
				}
			})
			assert.ErrorIs(t, err, context.Canceled)
		})
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		select {
		case err := <-closed:
			t.Errorf("Close has returned while a call runs: %v", err)
			closed <- s.Close()
		case <-time.After(shortLimit):
		}
		wakes = cfg.Workers == 1
		close(release)
		if err := <-closed; wakes {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, sched.ErrDeadlock, "the call has ended and woken no fiber")
			event.Signal()
			require.NoError(t, s.Close())
		}
	})
}

// What a report says of a lock ends the wait for it, though a condition locks it again, or its RLocker does.
func TestReportOfALockThatAnotherCallLocks(t *testing.T) {
	s, err := sched.New(sched.Config{Workers: 1, GiveUpAfter: shortLimit})
	require.NoError(t, err)
	var m fibersync.Mutex
	var rw fibersync.RWMutex
	cond := fibersync.NewCond(&m)
	rw.Lock()
	require.NoError(t, s.Enqueue(sched.Task{Name: "Vladimir", Func: func() { m.Lock(); cond.Wait(); m.Unlock() }}))
	require.NoError(t, s.Enqueue(sched.Task{Name: "Pozzo", Func: func() { lockAndUnlock(rw.RLocker()) }}))
	require.Eventually(t, func() bool { return cond.Waiting() == 1 }, schedtest.Standstill, time.Millisecond)
	m.Lock()
	cond.Signal()
	err = s.Close()
	require.ErrorIs(t, err, sched.ErrDeadlock)
	assert.Regexp(t, `\(Vladimir\): Yielded by fibersync\.\(\*Cond\)\.Wait of the mutex .*: unlock it`, err)
	assert.Regexp(t, `\(Pozzo\): Yielded by \S* of the mutex .*: unlock it`, err)
	m.Unlock()
	rw.Unlock()
	require.NoError(t, s.Close())
}
