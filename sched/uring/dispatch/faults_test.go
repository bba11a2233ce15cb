package dispatch

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/sched/fibersync"
)

// What goes wrong in an engine, a context and a scheduler as they are easily written. Each test first shows the fault
// in a model of a few lines, in which it chooses the order of the steps. Then it shows that the package is free of it.

// The queue says whether there was room. Taken the wrong way round, a task that is queued wakes no thread, and a task
// for which there was no room is lost.
func TestFaultInvertedPush(t *testing.T) {
	var queued []int
	wakes := 0
	push := func(n int) (room bool) {
		if room = len(queued) < 2; room {
			queued = append(queued, n)
		}
		return room
	}
	for n := range 3 {
		if !push(n) {
			wakes++
		}
		if n == 0 {
			require.Zero(t, wakes, "a task is queued, and the engine sleeps on")
		}
	}
	require.Equal(t, 1, wakes, "it is woken")
	require.Equal(t, []int{0, 1}, queued, "for nothing: the task is lost")

	eachDriver(t, func(t *testing.T, options Options) {
		c := NewContext(Options{Engine: options.Engine, Tasks: 2})
		keep := fibersync.NewLatch(1)
		require.NoError(t, c.Submit(do(keep.Wait)))
		start(t, c)
		ran := make(chan int, 1)
		for n := range 100 {
			require.NoError(t, c.Submit(do(func() { ran <- n })))
			takes(t, ran, n)
		}
		keep.CountDown()
		join(t, c)
		require.NoError(t, c.TrySubmit(do(func() {})))
		require.NoError(t, c.TrySubmit(do(func() {})))
		require.ErrorIs(t, c.TrySubmit(do(func() {})), ErrFull)
	})
}

// takes fails the test if n does not come soon.
func takes(t *testing.T, ran <-chan int, n int) {
	t.Helper()
	select {
	case got := <-ran:
		require.Equal(t, n, got)
	case <-time.After(hang):
		t.Fatal("the engine does not begin the task")
	}
}

// A task that ends tells Loop. If it does not hold the lock, it may do so between Loop's look at the count and its
// wait, and Loop waits forever.
func TestFaultNotifiedWithoutLock(t *testing.T) {
	live, waits, told := 1, false, false
	ended := func() {
		if live--; live == 0 && waits {
			told = true
		}
	}
	if live > 0 { // Loop looks,
		ended() // the task ends,
		waits = true
	}
	require.True(t, waits && live == 0 && !told, "and Loop waits for a task that has ended")

	s, err := NewScheduler(1, Options{})
	require.NoError(t, err)
	for range 20 {
		s.live = 1
		over := make(chan struct{})
		go func() {
			defer close(over)
			s.mu.Lock()
			defer s.mu.Unlock()
			first := true
			s.none.Await(func() bool {
				if first {
					first = false
					go s.taskEnded()
					time.Sleep(100 * time.Microsecond) // it comes to the lock
					return false
				}
				return s.live == 0
			})
		}()
		select {
		case <-over:
		case <-time.After(hang):
			t.Fatal("the end of the last task was missed")
		}
	}
}

// To count down and then look at the count are two steps. Between them another task may end, and both take themselves
// for the last.
func TestFaultTwoAreLast(t *testing.T) {
	live, last := 2, 0
	look := func() {
		if live == 0 {
			last++
		}
	}
	live--
	live--
	look()
	look()
	require.Equal(t, 2, last, "one may use what the other has freed")

	s, err := NewScheduler(1, Options{})
	require.NoError(t, err)
	for range 200 {
		s.live = 2
		var enders sync.WaitGroup
		for range 2 {
			enders.Add(1)
			go func() {
				defer enders.Done()
				s.taskEnded()
			}()
		}
		s.mu.Lock()
		s.none.Await(func() bool { return s.live == 0 })
		s.mu.Unlock()
		enders.Wait()
		require.Zero(t, s.live)
	}
}

// Nothing raises the count of suspended tasks: a context with a task that waits for another thread takes itself for
// idle, and stops under the task.
func TestFaultSuspendedNotCounted(t *testing.T) {
	var queued, underWay, waited, suspended int
	stops := func() bool { return queued == 0 && underWay == 0 && waited == 0 }
	suspended++ // and waited stays as it is
	require.True(t, stops() && suspended == 1, "the context stops, and the task never goes on")

	eachDriver(t, func(t *testing.T, options Options) {
		c := NewContext(options)
		var over atomic.Bool
		c.tryStop = func(r *contextRun) {
			if !over.Load() {
				t.Error("the context stops under a task that is suspended")
			}
			r.notifyStop()
		}
		keep := fibersync.NewLatch(1)
		require.NoError(t, c.Submit(do(keep.Wait)))
		start(t, c)
		ran := make(chan int, 1)
		for n := range 20 {
			require.NoError(t, c.Submit(do(func() { ran <- n })))
			takes(t, ran, n)
		}
		over.Store(true)
		keep.CountDown()
		join(t, c)
	})
}

// An exception that is kept for a caller that there is not is as good as none.
func TestFaultSwallowedPanic(t *testing.T) {
	var kept any
	func() {
		defer func() { kept = recover() }()
		panic("lost")
	}()
	require.Equal(t, "lost", kept, "and it is never read")

	eachDriver(t, func(t *testing.T, options Options) {
		var told any
		c := NewContext(Options{Engine: options.Engine, Panicked: func(value any, _ []byte) { told = value }})
		require.NoError(t, c.Submit(do(func() { panic("told") })))
		start(t, c)
		join(t, c)
		require.Equal(t, "told", told)
	})
}

// A loop that is woken first, and told to stop only then, finds nothing to do, and sleeps again.
func TestFaultWokenBeforeStop(t *testing.T) {
	stop, event, sleeps := false, 0, 0
	loop := func() {
		if event > 0 {
			event = 0
		} else {
			sleeps++
		}
	}
	event++
	loop() // it looks whether it is to stop: not yet
	loop()
	stop = true
	require.True(t, stop && event == 0 && sleeps == 1, "it sleeps forever")

	eachDriver(t, func(t *testing.T, options Options) {
		c := NewContext(options)
		c.tryStop = func(*contextRun) {}
		for range 50 {
			start(t, c)
			c.notifyStop()
			join(t, c)
		}
	})
}
