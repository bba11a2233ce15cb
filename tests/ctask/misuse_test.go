package ctask_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/tests/internal/suite"
	"fiberlab/tests/internal/taskbody"
)

// A handle belongs to one fiber always. It does no harm after the fiber has ended.
func TestStaleCHandle(t *testing.T) {
	var stale []uint64
	notify := func(t *testing.T) {
		for _, handle := range stale {
			assert.Equal(t, taskbody.OK, taskbody.Notify(handle))
		}
	}
	eachCScheduler(t, func(t *testing.T, cfg sched.Config) {
		own, code := taskbody.Current()
		assert.Equal(t, taskbody.OK, code)
		assert.NotContains(t, stale, own, "a handle was used again")
		stale = append(stale, own)
		notify(t)
		again, _ := taskbody.Current()
		assert.Equal(t, own, again)
		assert.Equal(t, taskbody.NoHandle, taskbody.Notify(own+1_000_000))
		assert.Equal(t, taskbody.TimedOut, func() taskbody.Code {
			gate := taskbody.NewGate(false)
			defer gate.Free()
			return gate.Wait(1_000_000)
		}(), "a notification that came too early was remembered")
	})
	notify(t)
	runtime.GC()
	runtime.GC()
	notify(t)
}

// A wait with a mutex that is not locked tells so, if the mutex can tell.
func TestCWaitWithoutTheMutex(t *testing.T) {
	eachCScheduler(t, func(t *testing.T, cfg sched.Config) {
		gate := taskbody.NewGate(true)
		defer gate.Free()
		assert.Equal(t, taskbody.Mutex, gate.WaitUnlocked())
		assert.Equal(t, taskbody.TimedOut, gate.Try(), "the mutex was left locked")
	})
}

func TestMisuse(t *testing.T) {
	outside := taskbody.Codes{
		Schedule: taskbody.NoScheduler, ScheduleNull: taskbody.Null,
		Yield: taskbody.NoFiber, Wait: taskbody.NoFiber,
		Current: taskbody.NoFiber, CurrentNull: taskbody.Null,
		NotifyZero: taskbody.NoHandle, NotifyUnissued: taskbody.NoHandle,
	}
	inside := taskbody.Codes{
		Schedule: taskbody.OK, ScheduleNull: taskbody.Null,
		Yield: taskbody.OK, Wait: taskbody.TimedOut,
		Current: taskbody.OK, CurrentNull: taskbody.Null,
		NotifyZero: taskbody.NoHandle, NotifyUnissued: taskbody.NoHandle,
	}
	assert.Equal(t, outside, taskbody.Probe())
	codes, err := taskbody.ProbeOnThread()
	assert.NoError(t, err)
	assert.Equal(t, outside, codes)
	eachCScheduler(t, func(t *testing.T, cfg sched.Config) {
		assert.Equal(t, inside, taskbody.Probe())
		codes, err := taskbody.ProbeOnThread()
		assert.NoError(t, err)
		assert.Equal(t, outside, codes, "a thread of C's is in no task")
	})
}

// A coroutine with C frames cannot be left: on the Goroutine backend C may do all but
// wait and yield.
func TestOnGoroutineBackend(t *testing.T) {
	over := suite.Over{Backends: []fiber.Backend{fiber.Goroutine}, Workers: []int{0, 1, 2}}
	over.Run(t, func(t *testing.T, cfg sched.Config) {
		asCTask(t, cfg, func() {
			assert.Equal(t, taskbody.Codes{
				Schedule: taskbody.OK, ScheduleNull: taskbody.Null,
				Yield: taskbody.Backend, Wait: taskbody.Backend,
				Current: taskbody.OK, CurrentNull: taskbody.Null,
				NotifyZero: taskbody.NoHandle, NotifyUnissued: taskbody.NoHandle,
			}, taskbody.Probe())
			gate := taskbody.NewGate(true)
			defer gate.Free()
			assert.Equal(t, taskbody.Backend, gate.Try(), "and the mutex is still held")
			var woken atomic.Bool
			own, _ := taskbody.Current()
			self := sched.Current()
			assert.NoError(t, sched.Schedule(func() {
				for self.State() != sched.Yielded {
					sched.Yield()
				}
				woken.Store(true)
				assert.Equal(t, taskbody.OK, taskbody.Notify(own), "C wakes a task that waits in Go")
			}))
			self.Wait(nil, woken.Load)
		})
	})
}

// A C task that schedules more than there is room for gets an error when it has waited for long enough.
func TestCOverload(t *testing.T) {
	suite.Over{Workers: []int{2}}.Run(t, func(t *testing.T, cfg sched.Config) {
		cfg.MaxQueued, cfg.OverloadAfter = 1, time.Millisecond
		gate := taskbody.NewGate(true)
		defer gate.Free()
		asCTask(t, cfg, func() {
			s, own := sched.Get(), sched.Current().Worker().ID()
			held, end := make(chan struct{}), make(chan struct{})
			assert.NoError(t, s.EnqueueOn(1-own, sched.Task{Func: func() { close(held); <-end }}))
			<-held
			assert.NoError(t, s.EnqueueOn(1-own, sched.Task{Func: func() {}}))
			assert.Equal(t, taskbody.Overloaded, gate.OpenInTask())
			close(end)
		})
	})
}

// On the Goroutine backend a C task gets that error at once: a wait for room would leave its frame.
func TestCOverloadOnGoroutines(t *testing.T) {
	over := suite.Over{Backends: []fiber.Backend{fiber.Goroutine}, Workers: []int{0, 1}}
	over.Run(t, func(t *testing.T, cfg sched.Config) {
		cfg.MaxQueued = 1
		gate := taskbody.NewGate(true)
		defer gate.Free()
		asCTask(t, cfg, func() {
			assert.Equal(t, taskbody.OK, gate.OpenInTask())
			assert.Equal(t, taskbody.Overloaded, gate.OpenInTask())
		})
	})
}

func TestErrorTexts(t *testing.T) {
	seen := make(map[string]taskbody.Code)
	for code := taskbody.OK; code <= taskbody.Overloaded+1; code++ {
		require.NotContains(t, seen, code.String())
		seen[code.String()] = code
	}
	require.Equal(t, taskbody.Overloaded+1, seen["unknown error"])
	require.Equal(t, "unknown error", taskbody.NotHeld.String())
}
