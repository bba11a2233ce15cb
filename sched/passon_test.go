package sched

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/internal/clock"
)

// hang is how long a test waits for what should happen at once.
const hang = 30 * time.Second

// eventually returns once cond holds.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * hang); !cond(); time.Sleep(10 * time.Microsecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not for %v", what, 2*hang)
		}
	}
}

// sleeps tells whether the worker is asleep and will be until it is woken.
func (w *Worker) sleeps() bool {
	return w.bell.word.Load() == slumber && w.scheduler.asleep[w.id/64].Load()&(1<<(w.id%64)) != 0
}

// blockThenCompute blocks a task on worker w, and returns its fiber. The task then computes, and does not
// wait, until flag is set.
func blockThenCompute(t *testing.T, w *Worker, flag *atomic.Bool, timedOut *atomic.Bool) *Fiber {
	t.Helper()
	s := w.scheduler
	blocked := make(chan *Fiber, 1)
	w.work.lock()
	w.work.pinned.Push(job{Func: func() {
		blocked <- Current()
		Current().WaitFor(nil, time.Hour, nil)
		for end := time.Now().Add(hang); !flag.Load(); {
			if time.Now().After(end) {
				timedOut.Store(true)
				return
			}
		}
	}})
	w.work.unlock()
	w.bell.ring()
	f := <-blocked
	eventually(t, "all workers asleep", func() bool {
		for _, w := range s.workers {
			if !w.sleeps() {
				return false
			}
		}
		return f.State() == Waiting
	})
	return f
}

// bring makes the fiber, of a worker whose lock is held, ready in one of two ways.
var bring = map[string]func(f *Fiber){
	"notified": func(f *Fiber) { f.worker.wake(f) },
	"deadline": func(f *Fiber) {
		f.worker.work.waiting.remove(f)
		f.worker.work.waiting.add(f, clock.Now())
	},
}

// A worker that wakes and finds both a fiber and a task runs the fiber. The task is begun by the
// other one, who sleeps. The test holds the worker's lock until it has both.
func TestTaskDoesNotWaitBehindAFiberWhileAWorkerSleeps(t *testing.T) {
	for _, b := range fiber.Backends() {
		for how, ready := range bring {
			s, err := New(Config{Workers: 2, Backend: b})
			require.NoError(t, err)
			var begun, timedOut atomic.Bool
			w := s.workers[0]
			f := blockThenCompute(t, w, &begun, &timedOut)
			w.work.lock()
			require.NoError(t, s.Enqueue(Task{Func: func() { begun.Store(true) }}))
			require.EqualValues(t, 1, w.inbox.waiting.Load(), "the first that sleeps is given the task")
			ready(f)
			w.work.unlock()
			w.bell.ring()
			eventually(t, how+": begun or given up", func() bool { return begun.Load() || timedOut.Load() })
			require.NoError(t, s.Close())
			assert.False(t, timedOut.Load(), "%v, %s: the task had to wait for the fiber", b, how)
		}
	}
}

// A worker that is woken to steal, and has a fiber to run of its own, wakes another one.
func TestWakeUpPassesOnWhenWhoIsWokenHasAFiber(t *testing.T) {
	for _, b := range fiber.Backends() {
		for how, ready := range bring {
			s, err := New(Config{Workers: 3, Backend: b})
			require.NoError(t, err)
			var begun, timedOut atomic.Bool
			w := s.workers[0]
			f := blockThenCompute(t, w, &begun, &timedOut)
			busy := s.workers[1]
			busy.work.lock() // it sleeps, and stands for one that computes
			busy.work.tasks.Push(job{Func: func() { begun.Store(true) }})
			busy.work.unlock()
			s.asleep.Remove(busy.id)
			w.work.lock()
			s.rouse()
			require.NotEqualValues(t, slumber, w.bell.word.Load(), "the first that sleeps is woken")
			ready(f)
			w.work.unlock()
			eventually(t, how+": begun or given up", func() bool { return begun.Load() || timedOut.Load() })
			busy.bell.ring()
			require.NoError(t, s.Close())
			assert.False(t, timedOut.Load(), "%v, %s: the task had to wait for the fiber", b, how)
		}
	}
}
