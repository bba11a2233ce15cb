package fibersync_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// meetInFork forks n functions of which each waits for all. A helper is needed for each but one.
func meetInFork(n int) {
	all := fibersync.NewLatch(n)
	fs := make([]func(), n)
	for i := range fs {
		fs[i] = func() {
			all.CountDown()
			all.Wait()
		}
	}
	fibersync.Parallelize(fs...)
}

// leaveAHelper makes a fork of which the caller does everything itself. If no other worker has time, its helper does
// not begin.
func leaveAHelper() { fibersync.Parallelize(func() {}, func() {}) }

// A helper that waits in the queue of a group that is busy does not count as one for another group, if groups do not
// steal.
func TestForkIsHelpedInItsGroup(t *testing.T) {
	only := suite.Over{Policies: []sched.Policy{sched.Group}, Workers: []int{2, 4}}
	only.Run(t, func(t *testing.T, cfg sched.Config) {
		cfg.Groups.Size = cfg.Workers / 2
		cfg.Groups.StealEvery = func(int, int) int { return 0 }
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			busy, over := schedtest.NewLatch(cfg.Groups.Size), schedtest.NewLatch(cfg.Groups.Size)
			release := make(chan struct{})
			for range cfg.Groups.Size {
				require.NoError(t, s.EnqueueInGroup(0, sched.Task{Func: func() {
					defer over.Done()
					busy.Done()
					<-busy.Opened() // holds the worker
					leaveAHelper()
					<-release
				}}))
			}
			busy.Wait()
			met := schedtest.NewLatch(1)
			require.NoError(t, s.EnqueueInGroup(1, sched.Task{Func: func() {
				meetInFork(5)
				met.Done()
			}}))
			met.Wait()
			close(release)
			over.Wait()
		})
	})
}

// If a scheduler has no workers, each bound goroutine helps itself.
func TestForkIsHelpedOnItsBoundGoroutine(t *testing.T) {
	suite.EachConfig(t, []int{0}, func(t *testing.T, cfg sched.Config) {
		s, err := sched.New(cfg)
		require.NoError(t, err)
		left, met, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
		bound := func(f func()) {
			defer func() { ended <- struct{}{} }()
			if assert.NoError(t, s.Bind()) {
				f()
				assert.NoError(t, sched.Unbind())
			}
		}
		go bound(func() {
			leaveAHelper()
			close(left)
			<-met // holds the thread
		})
		<-left
		go bound(func() {
			meetInFork(5)
			close(met)
		})
		<-ended
		<-ended
		require.NoError(t, s.Close())
	})
}

// A task that has begun goes on while CloseContext waits, and so do its forks. Forks after a call that gave up are
// helped too.
func TestForkIsHelpedWhileSchedulerIsClosed(t *testing.T) {
	errGaveUp := errors.New("no more time")
	suite.EachConfig(t, []int{1, 2}, func(t *testing.T, cfg sched.Config) {
		cfg.GiveUpAfter = -1
		s, err := sched.New(cfg)
		require.NoError(t, err)
		begun, fork, forked, again := schedtest.NewLatch(
			1,
		), schedtest.NewLatch(
			1,
		), schedtest.NewLatch(
			1,
		), schedtest.NewLatch(
			1,
		)
		schedtest.Schedule(t, s, func() {
			begun.Done()
			fork.Wait()
			leaveAHelper()
			meetInFork(5)
			forked.Done()
			again.Wait()
			meetInFork(5)
		})
		begun.Wait()
		ctx, cancel := context.WithCancelCause(context.Background())
		result := make(chan error, 1)
		go func() { result <- s.CloseContext(ctx) }()
		for s.Enqueue(sched.Task{Func: func() {}}) == nil { // it has not begun to close
			time.Sleep(100 * time.Microsecond)
		}
		fork.Done()
		forked.Wait()
		cancel(errGaveUp)
		assert.ErrorIs(t, <-result, errGaveUp)
		again.Done()
		require.NoError(t, s.Close())
	})
}

// A helper does not wait for room. Otherwise the caller that starts it could lose its worker by that, and forks of
// other callers, which count on the same helper, would have none.
func TestForkWithoutRoom(t *testing.T) {
	suite.EachConfig(t, []int{2}, func(t *testing.T, cfg sched.Config) {
		cfg.MaxQueued = 1
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			begun, taken, over := schedtest.NewLatch(2), schedtest.NewLatch(1), schedtest.NewLatch(3)
			full := make(chan struct{})
			var release atomic.Bool
			require.NoError(t, s.EnqueueOn(0, sched.Task{Func: func() {
				defer over.Done()
				begun.Done()
				<-full // holds the worker
				leaveAHelper()
			}}))
			require.NoError(t, s.EnqueueOn(1, sched.Task{Func: func() {
				defer over.Done()
				begun.Done()
				taken.Wait()
				meetInFork(4)
				d := fan(t, 3, func(struct{}) {})
				d.Run(struct{}{})
				release.Store(true)
			}}))
			begun.Wait()
			require.NoError(t, s.EnqueueOn(0, sched.Task{Func: func() {
				defer over.Done()
				taken.Done()
				for start := time.Now(); !release.Load(); time.Sleep(100 * time.Microsecond) { // holds the worker
					if time.Since(start) > schedtest.Standstill {
						assert.Fail(t, "the fork on the other worker has no helper")
						return
					}
				}
			}}))
			close(full)
			over.Wait()
		})
	})
}

// What helpers call has no fiber-local values of the caller, nor of what other helpers have called.
func TestForkKeepsLocalsApart(t *testing.T) {
	suite.EachScheduler(t, []int{0, 1, 2}, func(t *testing.T, s *sched.Scheduler) {
		var v fibersync.Local[int]
		run := func() {
			me := sched.Current()
			v.Set(-1)
			const n = 8
			all := fibersync.NewLatch(n)
			fs := make([]func(), n)
			for i := range fs {
				fs[i] = func() {
					got, set := v.Get()
					if sched.Current() == me {
						assert.Equal(t, -1, got)
					} else {
						assert.False(t, set, "a helper has the value %d", got)
						v.Set(i)
						fibersync.Parallelize(func() {}, func() {})
					}
					if i%2 == 0 { // half of them end at once, and their helpers' fibers are used again
						all.CountDown()
						return
					}
					all.CountDown()
					all.Wait()
				}
			}
			for range 5 {
				all = fibersync.NewLatch(n)
				fibersync.Parallelize(fs...)
			}
			got, _ := v.Get()
			assert.Equal(t, -1, got)
			v.Delete()
		}
		if sched.Get() == s {
			run()
		} else {
			schedtest.Perform(t, s, run)
		}
	})
}

// With one worker and nothing to wait for, the caller makes all calls itself: forks and runs cost no switch.
func TestForkOnOneWorkerIsTheCallersOwn(t *testing.T) {
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
		run := func() {
			me, calls := sched.Current(), 0
			f := func() {
				calls++
				assert.Same(t, me, sched.Current())
			}
			switches := s.Stats().Workers[0].Switches
			for range 100 {
				fibersync.Parallelize(f, f, f)
				fan(t, 3, func(struct{}) { f() }).Run(struct{}{})
			}
			assert.Equal(t, 800, calls)
			assert.Equal(t, switches, s.Stats().Workers[0].Switches)
		}
		if sched.Get() == s {
			run()
		} else {
			schedtest.Perform(t, s, run)
		}
	})
}
