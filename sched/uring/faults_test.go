package uring

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What goes wrong in an engine, a context and a scheduler as they are easily written. Each test first shows the fault
// in a model of a few lines, in which it chooses the order of the steps. Then it shows that the package is free of it.

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
		engines := New(options)
		e, err := engines.Here()
		require.NoError(t, err)
		const threads = 4
		each := 20_000
		if testing.Short() {
			each = 1000
		}
		var completed, makers sync.WaitGroup
		completed.Add(threads * each)
		for range threads {
			makers.Add(1)
			go func() {
				defer makers.Done()
				for range each {
					_ = e.Submit(&Request{Entry: Entry{Op: OpNop}, Completed: func(Completion) { completed.Done() }})
				}
			}()
		}
		makers.Wait()
		completed.Wait()
		require.NoError(t, engines.Close())
		require.True(t, e.Idle())
		require.Zero(t, e.table.underWay())
	})
}

// The same without a kernel, so that the two meet often.
func TestCountRunning(t *testing.T) {
	var e Engine
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

// The event is told once for many completions. An engine that waits for it anew, though it has not collected them all,
// waits forever.
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

	for _, brief := range []bool{false, true} {
		eachEngine(t, 2, func(t *testing.T, e *Engine) { pollMany(t, e, brief) })
	}
}

// pollMany has an engine with a small ring carry out many requests.
func pollMany(t *testing.T, e *Engine, brief bool) {
	const all = 100
	completed := 0
	for range all {
		e.begin(&Request{Entry: Entry{Op: OpNop}, Completed: func(Completion) { completed++ }})
	}
	watchdog := time.AfterFunc(hang, func() { panic("the engine waits beside completions") })
	defer watchdog.Stop()
	for completed < all {
		require.NoError(t, e.pollSubmit(-1, brief))
	}
	require.True(t, e.Idle())
}
