package sched

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
)

// At the end of a sleep a worker waits for a P, where goroutines compute: one slice of theirs. What has ended the sleep
// then runs before the worker sleeps again, so no wake-up costs two such waits. This bounds how late it can be.
func TestWakeUpEndsOneSleep(t *testing.T) {
	for _, p := range Policies() {
		s, err := New(Config{Workers: 1, Policy: p, Backend: fiber.Backends()[0]})
		require.NoError(t, err)
		w, sleeps := s.workers[0], make(chan uint64, 1)
		wait, fibers := waitOften(9)
		require.NoError(t, s.Go(func() {
			Current().OnBlock(countSleeps{w, sleeps})
			wait()
		}))
		round := 0
		for f := range fibers {
			way := sleepsBeside(t, s, f)
			before := w.sleeps.load()
			round++
			locked := round%5 >= 2 // the last two that woke the worker decide how it sleeps the next time
			if locked {
				runtime.LockOSThread()
			}
			if round%2 == 0 {
				require.NoError(t, s.Go(func() { sleeps <- w.sleeps.load() }))
				require.Equal(t, before+1, <-sleeps, "%v: a task, way %d to sleep", p, way)
				sleepsBeside(t, s, f)
				before = w.sleeps.load()
			}
			f.Notify()
			require.Equal(t, before+1, <-sleeps, "%v: a notified fiber, way %d to sleep", p, way)
			if locked {
				runtime.UnlockOSThread()
			}
		}
		require.NoError(t, s.Close())
	}
}

// countSleeps sends how often a worker has slept when a fiber goes on.
type countSleeps struct {
	worker *Worker
	sleeps chan<- uint64
}

func (c countSleeps) BeforeBlock() {}
func (c countSleeps) AfterBlock()  { c.sleeps <- c.worker.sleeps.load() }
