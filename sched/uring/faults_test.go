package uring

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/sched/fibersync"
)

// What goes wrong in an engine, a context and a scheduler as they are easily written. Each test first shows the fault
// in a model of a few lines, where the test chooses the order of the steps, and then that the package does not have it.

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
		c := NewContext(Options{Driver: options.Driver, Tasks: 2})
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

// What is submitted between the load of the counter and the store of 0 is not counted: the engine believes that nothing
// is under way.
func TestFaultStoreZero(t *testing.T) {
	type counters struct{ submitted, running int }
	storeZero := func(c *counters, between func()) {
		c.running += c.submitted
		between()
		c.submitted = 0
	}
	subtract := func(c *counters, between func()) {
		n := c.submitted
		c.running += n
		between()
		c.submitted -= n
	}
	for _, v := range []struct {
		count func(c *counters, between func())
		left  int
	}{{storeZero, 1}, {subtract, 2}} {
		c := counters{submitted: 1}
		v.count(&c, func() { c.submitted++ })
		require.Equal(t, v.left, c.submitted+c.running, "of two")
	}
}

// The package: many threads hand over requests while the engine moves its counters: each is counted, and completes,
// once.
func TestCountersLoseNothing(t *testing.T) {
	eachDriver(t, func(t *testing.T, options Options) {
		options.Requests = 16
		c := NewContext(options)
		const threads = 4
		each := 20_000
		if testing.Short() {
			each = 1000
		}
		keep := fibersync.NewLatch(1)
		require.NoError(t, c.Submit(do(keep.Wait)))
		start(t, c)
		e := engineOf(c)
		var completed atomic.Int64
		var makers sync.WaitGroup
		for range threads {
			makers.Add(1)
			go func() {
				defer makers.Done()
				for range each {
					e.beginElsewhere(
						&request{entry: entry{op: opNop}, completed: func(completion) { completed.Add(1) }},
					)
				}
			}()
		}
		makers.Wait()
		keep.CountDown()
		join(t, c)
		require.EqualValues(t, threads*each, completed.Load())
		require.True(t, e.emptyIO())
		require.Zero(t, e.table.underWay())
	})
}

// The same without a kernel, so that the two meet often.
func TestCountRunning(t *testing.T) {
	var e engine
	var stop atomic.Bool
	added := make(chan int64)
	go func() {
		n := int64(0)
		for ; !stop.Load(); n++ {
			e.submitted.Add(1)
		}
		added <- n
	}()
	for counted := int64(0); counted < 200; { // times that there was something to count
		before := e.running.Load()
		e.countRunning()
		if e.running.Load() != before {
			counted++
		}
		runtime.Gosched()
	}
	for range 1_000_000 {
		e.countRunning()
	}
	stop.Store(true)
	n := <-added
	e.countRunning()
	require.Equal(t, n, e.running.Load(), "some were lost")
}

// A task that ends tells Loop. If it does not hold the lock, it may do so between Loop's look at the count and its
// wait, and Loop waits for ever.
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
		c := NewContext(Options{Driver: options.Driver, Panicked: func(value any, _ []byte) { told = value }})
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
	require.True(t, stop && event == 0 && sleeps == 1, "it sleeps for ever")

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

// The event is told once for many completions. An engine that waits for it anew, though it has not collected them all,
// waits for ever.
func TestFaultWaitsBesideCompletions(t *testing.T) {
	completed, event := 5, 1
	poll := func() (blocks bool) {
		if event == 0 {
			return true
		}
		event = 0
		completed -= min(completed, 2)
		return false
	}
	require.False(t, poll())
	require.True(t, poll() && completed == 3, "three completions lie there")

	eachDriver(t, func(t *testing.T, options Options) {
		for _, brief := range []bool{false, true} {
			pollMany(t, options.Driver, brief)
		}
	})
}

// pollMany has an engine with a small ring carry out many requests.
func pollMany(t *testing.T, driver Driver, brief bool) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	e := engine{tasks: newTaskQueue(0)}
	require.NoError(t, e.init(Options{Driver: driver, Requests: 2}))
	const all = 100
	completed := 0
	for range all {
		e.begin(&request{entry: entry{op: opNop}, completed: func(completion) { completed++ }})
	}
	watchdog := time.AfterFunc(hang, func() { panic("the engine waits beside completions") })
	defer watchdog.Stop()
	for completed < all {
		require.NoError(t, e.pollSubmit(-1, brief, never))
	}
	require.True(t, e.emptyIO())
	e.deinit()
}
