package sched_test

import (
	"iter"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/stack"
	"fiberlab/tests/internal/check"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// A bad configuration makes no scheduler and leaves nothing, also if some workers
// have begun.
func TestNewRefuses(t *testing.T) {
	cpus := allowedCPUs(t)
	const absent = 1023 // the last that a mask can name
	thirdGetsNone := func(worker int) []int {
		if worker == 2 {
			return nil
		}
		return cpus
	}
	bad := map[string]struct {
		cfg  sched.Config
		want error
	}{
		"workers":         {sched.Config{Workers: -1}, sched.ErrNegative},
		"idle fibers":     {sched.Config{MaxIdle: -1}, sched.ErrNegative},
		"blocking calls":  {sched.Config{MaxCalls: -1}, sched.ErrNegative},
		"queued tasks":    {sched.Config{MaxQueued: -1}, sched.ErrNegative},
		"time of waiting": {sched.Config{MaxQueued: 1, OverloadAfter: -1}, sched.ErrNegative},
		"no stack":        {sched.Config{StackSize: -1}, stack.ErrSize},
		"absurd stack":    {sched.Config{StackSize: math.MaxInt}, stack.ErrSize},
		"too small stack": {sched.Config{StackSize: fiber.MinGoStack / 2}, fiber.ErrStackSize},
		"no CPU":          {sched.Config{Workers: 1, Affinity: anyOf()}, sched.ErrAffinity},
		"negative CPU":    {sched.Config{Workers: 1, Affinity: anyOf(0, -1)}, sched.ErrAffinity},
		"huge CPU":        {sched.Config{Workers: 1, Affinity: anyOf(math.MaxInt)}, sched.ErrAffinity},
		"absent CPU":      {sched.Config{Workers: 4, Affinity: anyOf(absent)}, sched.ErrAffinity},
		"the third of 64": {sched.Config{Workers: 64, Affinity: thirdGetsNone}, sched.ErrAffinity},
	}
	for name, c := range bad {
		t.Run(name, func(t *testing.T) {
			suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
				if b == fiber.Goroutine && c.cfg.StackSize != 0 {
					return // it has no meaning there
				}
				before := fiber.ReadStats()
				c.cfg.Backend = b
				s, err := sched.New(c.cfg)
				require.ErrorIs(t, err, c.want)
				assert.Nil(t, s)
				requireRoots(t, before.Roots, err)
			})
		})
	}
	s, err := sched.New(sched.Config{Backend: 99})
	require.Error(t, err)
	require.Nil(t, s)
}

// A refusal of a policy, or of a layout of its workers, names what was given and what can be chosen.
func TestPolicyErrorsNameTheChoices(t *testing.T) {
	for want, groups := range map[string]sched.Groups{
		"sched: new: Config.Groups.Size is 65: a scheduling group has at most 64 workers: make more groups": {Size: 65},
		"sched: new: Config.Groups.Mode is GroupMode(2): no such mode: choose one of balance, affinity":     {Mode: 2},
	} {
		_, err := sched.New(sched.Config{Policy: sched.Group, Groups: groups})
		assert.ErrorIs(t, err, sched.ErrPolicy)
		assert.EqualError(t, err, want)
	}
	_, err := sched.New(sched.Config{Policy: 9})
	assert.ErrorIs(t, err, sched.ErrPolicy)
	assert.EqualError(
		t, err, "sched: new: Config.Policy is Policy(9): no such policy: choose one of stealing, roundrobin, group",
	)
	_, err = sched.ParseGroupMode("fair")
	assert.ErrorIs(t, err, sched.ErrPolicy)
	assert.EqualError(t, err, `no such mode of scheduling groups "fair": choose one of balance, affinity`)
}

// A task needs a function.
func TestNilTask(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		assert.ErrorIs(t, s.Enqueue(sched.Task{}), sched.ErrNilTask)
		assert.ErrorIs(t, s.Enqueue(sched.Task{Flags: sched.SameThread}), sched.ErrNilTask)
		schedtest.Perform(t, s, func() { assert.ErrorIs(t, sched.Schedule(nil), sched.ErrNilTask) })
	})
}

// Outside of tasks and of goroutines that are bound there is nothing to wait with.
func TestNotBound(t *testing.T) {
	suite.EachConfig(t, suite.AnyWorkers, func(t *testing.T, cfg sched.Config) {
		s, err := sched.New(cfg)
		require.NoError(t, err)
		assert.ErrorIs(t, sched.Schedule(func() {}), sched.ErrNotBound)
		assert.ErrorIs(t, sched.Unbind(), sched.ErrNotBound)
		assert.ErrorIs(t, s.Enqueue(sched.Task{Func: func() {}, Flags: sched.SameThread}), sched.ErrNotBound)
		if cfg.Workers == 0 {
			assert.ErrorIs(t, s.Enqueue(sched.Task{Func: func() {}}), sched.ErrNoWorkers)
		}
		assert.Nil(t, sched.Current())
		check.PanicsWith(t, sched.ErrNoFiber, sched.Yield)
		check.PanicsWith(t, sched.ErrNoFiber, func() { sched.Sleep(0) })
		check.PanicsWith(t, sched.ErrNoFiber, func() { sched.Sleep(time.Hour) })
		check.PanicsWith(t, sched.ErrNoFiber, func() { sched.Current().Wait(nil, nil) })
		check.PanicsWith(t, sched.ErrNoFiber, func() { sched.Current().WaitFor(nil, time.Second, nil) })
		check.PanicsWith(t, sched.ErrNoFiber, func() { sched.Current().WaitUntil(nil, time.Now(), nil) })
		check.PanicsWith(t, sched.ErrNoFiber, func() { sched.Current().Notify() })
		require.NoError(t, s.Close())
	})
}

// Only a fiber itself can wait; everything else than that is refused before anything
// has been changed.
func TestForeignFiber(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		p := schedtest.NewSleeper()
		schedtest.Schedule(t, s, p.Task)
		f := p.Blocked()
		refuse := func() {
			check.PanicsWith(t, sched.ErrNotSelf, func() { f.Wait(nil, nil) })
			check.PanicsWith(t, sched.ErrNotSelf, func() { f.WaitFor(new(sync.Mutex), time.Hour, nil) })
			check.PanicsWith(t, sched.ErrNotSelf, func() { f.WaitUntil(nil, time.Now(), func() bool { return true }) })
			assert.Equal(t, sched.Yielded, f.State())
		}
		refuse()
		schedtest.Perform(t, s, refuse)
		outside := make(chan struct{})
		go func() {
			defer close(outside)
			refuse()
		}()
		<-outside
		p.Wake()
		p.Over.Wait()
	})
}

// An unbound goroutine is no fiber any more. Its former main fiber refuses it like any other goroutine.
func TestUnboundFiber(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		if sched.Get() != nil {
			require.NoError(t, sched.Unbind())
			defer func() { require.NoError(t, s.Bind()) }()
		}
		require.NoError(t, s.Bind())
		f := sched.Current()
		f.Wait(nil, func() bool { return true })
		require.NoError(t, sched.Unbind())
		holds := func() bool { return true }
		check.PanicsWith(t, sched.ErrNotSelf, func() { f.Wait(nil, holds) })
		check.PanicsWith(t, sched.ErrNotSelf, func() { f.WaitFor(nil, time.Hour, holds) })
		require.NoError(t, s.Bind())
		check.PanicsWith(t, sched.ErrNotSelf, func() { f.Wait(nil, holds) })
		require.NoError(t, sched.Unbind())
	})
}

// A fiber that has ended refuses the fibers that come to run on its stack later.
func TestEndedFiber(t *testing.T) {
	const fibers = 200
	suite.Over{Workers: []int{1}}.Run(t, func(t *testing.T, cfg sched.Config) {
		cfg.MaxIdle = 1
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			block := func(begin func()) (blocked []*sched.Fiber, wakeAll func()) {
				sleepers := make([]*schedtest.Sleeper, fibers)
				for i := range sleepers {
					sleepers[i] = schedtest.NewSleeper()
					schedtest.Schedule(t, s, func() {
						begin()
						sleepers[i].Task()
					})
				}
				for _, p := range sleepers {
					blocked = append(blocked, p.Blocked())
				}
				return blocked, func() {
					for _, p := range sleepers {
						p.Wake()
						p.Over.Wait()
					}
				}
			}
			ended, wakeAll := block(func() {})
			wakeAll()
			accepts := func(f *sched.Fiber) (accepts bool) {
				defer func() { _ = recover() }()
				f.Wait(nil, func() bool { return true })
				return true
			}
			accepted := 0
			_, wakeAll = block(func() {
				me := sched.Current()
				for _, f := range ended {
					if f != me && accepts(f) {
						accepted++
					}
				}
			})
			wakeAll()
			assert.Zero(t, accepted, "fibers that took another one for themselves")
		})
	})
}

// A goroutine binds one scheduler at a time, and a task's own cannot be bound.
func TestBound(t *testing.T) {
	suite.EachScheduler(t, []int{0, 1, 4}, func(t *testing.T, s *sched.Scheduler) {
		schedtest.Perform(t, s, func() { assert.ErrorIs(t, s.Bind(), sched.ErrBound) })
		bindHere := sched.Get() == nil
		if bindHere {
			require.NoError(t, s.Bind())
		}
		other, err := sched.New(sched.Config{})
		require.NoError(t, err)
		assert.ErrorIs(t, s.Bind(), sched.ErrBound)
		assert.ErrorIs(t, other.Bind(), sched.ErrBound)
		assert.Same(t, s, sched.Get())
		assert.ErrorIs(t, s.Close(), sched.ErrBound)
		assert.NoError(t, other.Close(), "another one may be closed")
		schedtest.Perform(t, s, func() {}) // it still works
		if bindHere {
			require.NoError(t, sched.Unbind())
		}
	})
}

// A task can end neither the scheduler nor the binding, whichever fiber runs it.
func TestInTask(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		ofClose := sched.ErrInTask
		if sched.Get() == s {
			ofClose = sched.ErrBound
		}
		refuse := func() {
			assert.ErrorIs(t, sched.Unbind(), sched.ErrInTask)
			assert.ErrorIs(t, s.Close(), ofClose)
		}
		schedtest.Perform(t, s, refuse)
		schedtest.Perform(t, s, func() {
			sched.Sleep(time.Microsecond)
			refuse()
		})
		schedtest.Perform(t, s, func() { sched.Yield(); refuse() })
	})
}

// A goroutine cannot unbind while it waits, nor in a coroutine. It stays bound then.
func TestUnbindInAWait(t *testing.T) {
	suite.EachConfig(t, []int{1}, func(t *testing.T, cfg sched.Config) {
		s, err := sched.New(cfg)
		require.NoError(t, err)
		require.NoError(t, s.Bind())
		me := sched.Current()
		refuse := func(want error) { assert.ErrorIs(t, sched.Unbind(), want) }
		lock := lockThat(func() { refuse(sched.ErrInWait); me.Notify() })
		me.Wait(lock, nil)
		lock.Mutex.Unlock()
		me.OnBlock(&hook{t: t, fiber: me, before: func() { refuse(sched.ErrInWait) }})
		sched.Sleep(time.Microsecond)
		me.OnBlock(nil)
		if suite.HasThreads(cfg) { // else no coroutine is known for the goroutine's
			next, stop := iter.Pull(func(yield func(int) bool) { refuse(sched.ErrInTask) })
			next()
			stop()
		}
		require.NoError(t, sched.Unbind())
		require.NoError(t, s.Close())
	})
}

// Run closes its scheduler even if the function has unbound it.
func TestUnbindInRun(t *testing.T) {
	suite.EachConfig(t, []int{1}, func(t *testing.T, cfg sched.Config) {
		var s *sched.Scheduler
		err := sched.Run(cfg, func() {
			s = sched.Get()
			assert.NoError(t, sched.Unbind())
		})
		require.ErrorIs(t, err, sched.ErrNotBound)
		<-s.Done()
	})
}

// A scheduler that is closed stays closed.
func TestClosed(t *testing.T) {
	suite.EachConfig(t, suite.AnyWorkers, func(t *testing.T, cfg sched.Config) {
		s, err := sched.New(cfg)
		require.NoError(t, err)
		require.NoError(t, s.Close())
		for range 2 {
			assert.ErrorIs(t, s.Close(), sched.ErrClosed)
			assert.ErrorIs(t, s.Enqueue(sched.Task{Func: func() {}}), sched.ErrClosed)
			assert.ErrorIs(t, s.Enqueue(sched.Task{Func: func() {}, Flags: sched.SameThread}), sched.ErrNotBound)
			assert.ErrorIs(t, s.Bind(), sched.ErrClosed)
			assert.Nil(t, sched.Get())
			assert.Zero(t, s.Stats().Pending)
		}
		suite.OnScheduler(t, cfg, func(t *testing.T, other *sched.Scheduler) {
			schedtest.Perform(
				t, other, func() { assert.ErrorIs(t, s.Enqueue(sched.Task{Func: func() {}}), sched.ErrClosed) },
			)
		})
	})
}
