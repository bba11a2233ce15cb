//go:build go1.25

package fibersync_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched/fibersync"
)

// inBackOff is how far a bubble's clock may go on, in nanoseconds, because callers that wait for a spinlock sleep for
// some microseconds of it.
const inBackOff = float64(100 * time.Millisecond)

// The primitives in bubbles, between goroutines. What one bubble has waited by comes to the next,
// and to goroutines outside: each case is tried in several, one after the other and side by side.
func TestInBubbles(t *testing.T) {
	for name, prepare := range contextCases {
		t.Run(name, func(t *testing.T) {
			for range 4 {
				inBubble(t, prepare)
				fulfilWaiter(t, prepare, func(over chan error) error { return <-over })
			}
			for range 4 {
				t.Run("side by side", func(t *testing.T) {
					t.Parallel()
					inBubble(t, prepare)
				})
			}
		})
	}
}

func inBubble(t *testing.T, prepare contextCase) {
	synctest.Test(t, func(t *testing.T) {
		for range 3 {
			fulfilWaiter(t, prepare, func(over chan error) error {
				synctest.Wait()
				return <-over
			})
		}
		waitInVain(t, prepare)
	})
}

// fulfilWaiter has one client wait, and fulfils the wait once it is queued.
func fulfilWaiter(t *testing.T, prepare contextCase, await func(over chan error) error) {
	wait, fulfil := prepare()
	over := make(chan error, 1)
	ctx := newStanding(context.Background())
	go func() { over <- wait(ctx) }()
	ctx.inLine.Wait()
	fulfil()
	assert.NoError(t, await(over))
}

// waitInVain waits some times in vain, by the clock of the bubble, which stands still until everything in the bubble is
// blocked. So the wait is seen to block, and to end at its time and not later.
func waitInVain(t *testing.T, prepare contextCase) {
	wait, fulfil := prepare()
	over := make(chan error, 1)
	for i := range 3 {
		begun, limit := time.Now(), time.Duration(i+1)*time.Hour
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		go func() { over <- wait(ctx) }()
		assert.Equal(t, context.DeadlineExceeded, <-over)
		assert.InDelta(t, limit, time.Since(begun), inBackOff)
		cancel()
	}
	ctx := newStanding(context.Background())
	go func() { over <- wait(ctx) }()
	ctx.inLine.Wait()
	fulfil()
	assert.NoError(t, <-over)
}

// Waits without an end, which are written out apart from those with a context.
func TestInBubblesWithoutAContext(t *testing.T) {
	for range 4 {
		synctest.Test(t, func(*testing.T) {
			var m fibersync.Mutex
			var e fibersync.Event
			ch := fibersync.NewChannel[int](0)
			m.Lock()
			var all fibersync.WaitGroup
			all.Go(func() { m.Lock() })
			all.Go(e.Wait)
			all.Go(func() { ch.Send(1) })
			all.Go(func() { fibersync.WaitAny(fibersync.NewEvent(fibersync.AutoReset, false), &e) })
			synctest.Wait()
			e.Signal()
			e.Signal()
			ch.Receive()
			m.Unlock()
			all.Wait()
		})
		var outside fibersync.WaitGroup
		ch := fibersync.NewChannel[int](0)
		outside.Go(func() { ch.Send(1) })
		ch.Receive()
		outside.Wait()
	}
}

// A call that never ends is seen to be blocked for good by the bubble: its caller does not wait
// hour by hour, as a fiber does.
func TestInBubblesCallIsWaitedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		begun := time.Now()
		go func() {
			_, err := fibersync.CallContext(context.Background(), func() (int, error) { <-end; return 0, nil })
			assert.NoError(t, err)
		}()
		synctest.Wait()
		time.Sleep(10 * time.Hour)
		close(end)
		synctest.Wait()
		assert.InDelta(t, 10*time.Hour, time.Since(begun), inBackOff)
	})
}

// The functions of a fork, and the nodes of a graph, run in the bubble of their caller, whatever goroutines fork in
// other bubbles and outside at the same time. Else the bubble's clock would advance although some of its work is under
// way.
func TestForksStayInTheirBubble(t *testing.T) {
	begun, stop, stopped := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		fibersync.Parallelize(func() {}, func() {})
		for close(begun); ; {
			select {
			case <-stop:
				return
			default:
				fibersync.Parallelize(func() {}, func() {}, func() {})
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	<-begun
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			const n = 4
			met := make(chan struct{})
			meet := func() { // the functions meet in pairs, by a channel of the bubble
				select {
				case met <- struct{}{}:
				case <-met:
				}
				time.Sleep(time.Second)
			}
			begun := time.Now()
			fibersync.Parallelize(meet, meet, meet, meet)
			assert.InDelta(t, time.Second, time.Since(begun), inBackOff)
			var b fibersync.DAGBuilder[struct{}]
			for range n {
				b.Node(func(struct{}) { meet() })
			}
			d, err := b.Build()
			if assert.NoError(t, err) {
				d.Run(struct{}{})
			}
			assert.InDelta(t, 2*time.Second, time.Since(begun), inBackOff)
		})
	}
}
