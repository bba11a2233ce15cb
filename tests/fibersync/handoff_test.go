package fibersync_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched/fibersync"
)

// A unit that is given back while a caller waits belongs to that caller at once, whether it has run or not, under every
// policy. A caller that only tries does not get it.
func TestHandOffLeavesNothingToTry(t *testing.T) {
	const waiters = 4 // one more than are served
	for name, begin := range map[string]func() handOff{
		"Event":       eventHandOff,
		"WaitAny":     waitAnyHandOff,
		"Semaphore":   semaphoreHandOff,
		"BoundedPool": poolHandOff,
		"Channel":     channelHandOff,
	} {
		t.Run(name, func(t *testing.T) {
			eachCompany(t, func(c *company) {
				h, got := begin(), newRoll(waiters-1)
				ctx, cancel := context.WithCancel(context.Background())
				queueUp(c, waiters, ctx, func(i int, ctx context.Context) {
					if h.wait(ctx) == nil {
						got.report(i)
					}
				})
				for range waiters - 1 {
					h.give()
					assert.False(c.t, h.try(), "it has been handed off to a caller that waits")
				}
				got.reported(waiters - 1)
				cancel()
				c.wait()
				h.give()
				assert.True(c.t, h.try(), "no caller waits")
			})
		})
	}
}

// handOff is a primitive that hands what is given to the caller that has waited longest.
type handOff struct {
	wait func(ctx context.Context) error
	give func()
	try  func() bool
}

func eventHandOff() handOff {
	var e fibersync.Event
	return handOff{e.WaitContext, e.Signal, e.Test}
}

// waitAnyHandOff signals two events in turn; callers wait for either.
func waitAnyHandOff() handOff {
	events, n := newEvents(2), 0
	return handOff{
		wait: func(ctx context.Context) error { _, err := fibersync.WaitAnyContext(ctx, events...); return err },
		give: func() { n++; events[n%2].Signal() },
		try: func() bool {
			one, other := events[n%2].Test(), events[(n+1)%2].Test()
			return one || other
		},
	}
}

func semaphoreHandOff() handOff {
	s := fibersync.NewSemaphore(1)
	s.Acquire(1)
	return handOff{
		wait: func(ctx context.Context) error { return s.AcquireContext(ctx, 1) },
		give: func() { s.Release(1) },
		try:  func() bool { return s.TryAcquire(1) },
	}
}

// poolHandOff lends all items first, and returns one at a time.
func poolHandOff() handOff {
	const items = 8
	p := fibersync.NewBoundedPool(items, fibersync.Items[int]{})
	var lent []fibersync.Loan[int]
	for range items {
		lent = append(lent, p.Borrow())
	}
	return handOff{
		wait: func(ctx context.Context) error { _, err := p.BorrowContext(ctx); return err },
		give: func() { lent[0].Return(); lent = lent[1:] },
		try:  func() bool { _, ok := p.TryBorrow(); return ok },
	}
}

func channelHandOff() handOff {
	c := fibersync.NewChannel[int](1)
	return handOff{
		wait: func(ctx context.Context) error { _, err := c.ReceiveContext(ctx); return err },
		give: func() { c.Send(1) },
		try:  func() bool { _, _, ready := c.TryReceive(); return ready },
	}
}

// Callers that need two signals wait for them in one order, the same for all. So each gets both, under every policy. A
// loop that takes either, tests the other and gives the first back may never end.
func TestTwoSignalsInOneOrder(t *testing.T) {
	eachCompany(t, func(c *company) {
		a, b := fibersync.NewEvent(fibersync.AutoReset, true), fibersync.NewEvent(fibersync.AutoReset, true)
		for range 8 {
			c.start(func() {
				for range 20 {
					a.Wait()
					b.Wait()
					b.Signal()
					a.Signal()
				}
			})
		}
	})
}
