package ctask_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
	"fiberlab/tests/internal/taskbody"
)

// eachCScheduler runs body as a task of a scheduler with 0, 1 and 2 workers, on the
// backends that let C wait. With 0 workers it runs while the test's goroutine
// unbinds. Inside body, the test must not be ended.
func eachCScheduler(t *testing.T, body func(t *testing.T, cfg sched.Config)) {
	t.Helper()
	over := suite.Over{Backends: suite.HandSwitched, Workers: []int{0, 1, 2}}
	over.Run(t, func(t *testing.T, cfg sched.Config) {
		asCTask(t, cfg, func() { body(t, cfg) })
	})
}

// asCTask runs body as a task of a new scheduler, which it closes.
func asCTask(t testing.TB, cfg sched.Config, body func()) {
	t.Helper()
	cfg.Name = "C tasks"
	cfg.GiveUpAfter = schedtest.Standstill // threads of C and goroutines that wake a task may stall
	s, err := sched.New(cfg)
	require.NoError(t, err)
	if cfg.Workers == 0 {
		require.NoError(t, s.Bind())
	}
	done := make(chan struct{})
	assert.NoError(t, s.Enqueue(sched.Task{Func: func() {
		defer close(done)
		body()
	}}))
	if cfg.Workers == 0 {
		assert.NoError(t, sched.Unbind())
	}
	<-done
	assert.NoError(t, s.Close())
}

// C tasks that wait for one another in mid-call share a thread with one another and
// with Go tasks.
func TestCTasksTakeTurns(t *testing.T) {
	for _, ring := range []struct{ players, laps int }{{2, suite.Scaled(500, 100)}, {40, suite.Scaled(100, 20)}} {
		t.Run(fmt.Sprintf("players=%d", ring.players), func(t *testing.T) {
			eachCScheduler(t, func(t *testing.T, cfg sched.Config) {
				r := taskbody.NewRing(ring.players, ring.laps)
				defer r.Free()
				var ended atomic.Bool
				laps := 0
				assert.NoError(t, sched.Get().Enqueue(sched.Task{Flags: sched.SameThread, Func: func() {
					for ; !ended.Load(); laps++ {
						sched.Yield()
					}
				}}))
				r.Run()
				if cfg.Workers < 2 { // another worker may have run all players before this one had to wait
					assert.Positive(t, laps, "the Go task did not go on while C tasks of its worker waited")
				}
				ended.Store(true)
				assert.Equal(t, ring.players*ring.laps, r.Passes())
				assert.Zero(t, r.Broken())
				if cfg.Policy == sched.Stealing {
					assert.Zero(t, r.Moves(), "laps that ended on another thread")
				}
			})
		})
	}
}

// The goroutine that binds a scheduler may call such C as well.
func TestBoundGoroutineWaitsInC(t *testing.T) {
	over := suite.Over{Backends: suite.HandSwitched, Workers: []int{0}}
	over.Run(t, func(t *testing.T, cfg sched.Config) {
		s, err := sched.New(cfg)
		require.NoError(t, err)
		require.NoError(t, s.Bind())
		r := taskbody.NewRing(3, 100)
		defer r.Free()
		r.Run()
		assert.Equal(t, 300, r.Passes())
		assert.Zero(t, r.Broken())
		require.NoError(t, sched.Unbind())
		require.NoError(t, s.Close())
	})
}

func TestCTaskIsWokenByACTask(t *testing.T) {
	eachCScheduler(t, func(t *testing.T, cfg sched.Config) {
		gate := taskbody.NewGate(false)
		defer gate.Free()
		assert.Equal(t, taskbody.OK, gate.OpenInTask())
		assert.Equal(t, taskbody.OK, gate.Wait(taskbody.Forever))
	})
}

func TestCTaskIsWokenByAThreadOfC(t *testing.T) {
	eachCScheduler(t, func(t *testing.T, cfg sched.Config) {
		gate := taskbody.NewGate(false)
		defer gate.Free()
		opened := make(chan error)
		go func() {
			for gate.Waiter() == 0 {
				runtime.Gosched()
			}
			opened <- gate.OpenOnThread()
		}()
		assert.Equal(t, taskbody.OK, gate.Wait(taskbody.Forever))
		assert.NoError(t, <-opened)
	})
}

func TestCWaitEndsAtItsDeadline(t *testing.T) {
	eachCScheduler(t, func(t *testing.T, cfg sched.Config) {
		gate := taskbody.NewGate(true)
		defer gate.Free()
		for _, timeout := range []int64{0, 1, 1_000_000} {
			assert.Equal(t, taskbody.TimedOut, gate.Wait(timeout))
		}
		assert.Equal(t, taskbody.TimedOut, gate.Try(), "and the mutex is held")
		gate.Open()
		assert.Equal(t, taskbody.OK, gate.Wait(taskbody.Forever))
	})
}

// While one task waits in C with a deadline, the thread serves others.
func TestCWaitWithDeadlineLeavesTheThreadToOthers(t *testing.T) {
	eachCScheduler(t, func(t *testing.T, cfg sched.Config) {
		gate := taskbody.NewGate(false)
		defer gate.Free()
		assert.NoError(t, sched.Get().Enqueue(sched.Task{Flags: sched.SameThread, Func: gate.Open}))
		code := taskbody.TimedOut
		for code == taskbody.TimedOut {
			code = gate.Wait(1_000_000)
		}
		assert.Equal(t, taskbody.OK, code)
	})
}
