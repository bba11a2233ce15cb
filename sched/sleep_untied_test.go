package sched

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/internal/idle"
)

// eachUntied calls test with a scheduler of one worker that may give its thread up, under each policy with migration,
// and with what Config.Exhausted is told.
func eachUntied(t *testing.T, maxIdle int, test func(t *testing.T, s *Scheduler, told <-chan error)) {
	for _, p := range Policies() {
		if !p.migrates() {
			continue
		}
		t.Run(p.String(), func(t *testing.T) {
			told := make(chan error, 1)
			s, err := New(
				Config{Workers: 1, Policy: p, Backend: fiber.Backends()[0], MaxIdle: maxIdle, Exhausted: func(err error) {
					select {
					case told <- err:
					default:
					}
				}},
			)
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			require.False(t, s.workers[0].keeps, "the worker keeps its thread")
			test(t, s, told)
		})
	}
}

// sleepsBeside waits until the only worker of s sleeps while f is blocked, and returns the way in
// which it does.
func sleepsBeside(t *testing.T, s *Scheduler, f *Fiber) idle.Way {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Microsecond) {
		w := s.workers[0].word
		for _, way := range []idle.Way{idle.AsGoroutine, idle.OnThread} {
			if w.AsleepIn(way) && f.State() == Yielded {
				return way
			}
		}
	}
	require.FailNow(t, "a worker has nothing to run, and does not sleep")
	return 0
}

// waitOften returns a task that waits times times, each time for a Notify, and tells its fiber before.
func waitOften(times int) (task func(), fibers <-chan *Fiber) {
	tell := make(chan *Fiber)
	return func() {
		defer close(tell)
		for range times {
			tell <- Current()
			Current().Wait(nil, nil)
		}
	}, tell
}

// A worker needs no further fiber to go on with the only one that was blocked.
func TestBlockedFiberGoesOnWithoutAnother(t *testing.T) {
	eachUntied(t, 0, func(t *testing.T, s *Scheduler, told <-chan error) {
		task, fibers := waitOften(3)
		require.NoError(t, s.Go(func() {
			exhausted.Store(true)
			task()
		}))
		for f := range fibers {
			sleepsBeside(t, s, f)
			f.Notify()
		}
		exhausted.Store(false)
		require.Empty(t, told, "the worker has told that it cannot make a fiber")
	})
}

// Fibers are not made and ended in turn, however few may be idle.
func TestFewIdleFibersAreEnough(t *testing.T) {
	for _, maxIdle := range []int{1, 2} {
		eachUntied(t, maxIdle, func(t *testing.T, s *Scheduler, _ <-chan error) {
			for range 20 {
				task, fibers := waitOften(1)
				require.NoError(t, s.Go(task))
				for f := range fibers {
					sleepsBeside(t, s, f)
					f.Notify()
				}
			}
			require.LessOrEqual(
				t, s.Stats().Made, uint64(2), "fibers made for tasks that run one after the other, with MaxIdle %d",
				maxIdle,
			)
		})
	}
}

// A worker counts as its own Word when it wakes another one, unless it keeps its thread. Then it is locked there, as
// are other goroutines that have called LockOSThread.
func TestWaker(t *testing.T) {
	if fiber.Backends()[0] == fiber.Goroutine {
		t.Skip("on the goroutine backend KeepThreads decides nothing")
	}
	for _, p := range Policies() {
		for _, keep := range []bool{false, true} {
			s, err := New(Config{Workers: 1, Policy: p, Backend: fiber.Backends()[0], KeepThreads: keep})
			require.NoError(t, err)
			got := make(chan *idle.Word, 1)
			require.NoError(t, s.Enqueue(Task{Func: func() { got <- waker() }}))
			want := s.workers[0].word
			if keep {
				want = idle.Locked
			}
			require.Same(t, want, <-got, "policy %v, threads kept: %t", p, keep)
			require.NoError(t, s.Close())
		}
	}
	require.Nil(t, waker())
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	require.Same(t, idle.Locked, waker())
}
