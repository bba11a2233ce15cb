package fibersync_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/suite"
)

// openKinds make things that open once, for all waiters. A wait that succeeds says so only if open has been
// called; check is told what it returned.
var openKinds = map[string]func(t *testing.T) (wait func(ctx context.Context) error, open func()){
	"Latch": func(t *testing.T) (func(context.Context) error, func()) {
		l := fibersync.NewLatch(1)
		return func(ctx context.Context) error {
			err := l.WaitContext(ctx)
			assert.True(t, err != nil || l.Open())
			return err
		}, l.CountDown
	},
	"WaitGroup": func(*testing.T) (func(context.Context) error, func()) {
		g := &fibersync.WaitGroup{}
		g.Add(2)
		return g.WaitContext, func() { g.Done(); g.Done() }
	},
	"Future": func(t *testing.T) (func(context.Context) error, func()) {
		var p fibersync.Promise[string]
		return func(ctx context.Context) error {
			v, err := p.Future().GetContext(ctx)
			if err != nil {
				assert.Empty(t, v)
			} else {
				assert.Equal(t, "here", v)
				assert.True(t, p.Future().Ready())
			}
			return err
		}, func() { p.Set("here") }
	},
	"Ticket": func(*testing.T) (func(context.Context) error, func()) {
		var q fibersync.TicketQueue
		first, second := q.Take(), q.Take()
		return second.WaitContext, first.Done
	},
}

// What is open lets even those go on whose context is over; a wait that was given up before has taken nothing.
func TestWaitToOpenEndsWithItsContext(t *testing.T) {
	for name, prepare := range openKinds {
		t.Run(name, func(t *testing.T) {
			eachCompany(t, func(c *company) {
				wait, open := prepare(c.t)
				inVain(c, wait)
				over := inVain(c, wait)
				open()
				assert.NoError(c.t, wait(over))
			})
		})
	}
}

// Cancelling and opening race. Each client learns that its context is over or that the thing is open. What it learns is
// true, and each client returns.
func TestStormOfCancelsAndOpenings(t *testing.T) {
	for name, prepare := range openKinds {
		t.Run(name, func(t *testing.T) {
			eachCompany(t, func(c *company) {
				for range suite.Scaled(50, 10) {
					wait, open := prepare(c.t)
					ctx, cancel := context.WithCancel(context.Background())
					var opened atomic.Bool
					for range 6 {
						c.start(func() {
							if err := wait(ctx); err != nil {
								assert.Equal(c.t, context.Canceled, err)
								assert.Error(c.t, ctx.Err(), "it is not over")
							} else {
								assert.True(c.t, opened.Load(), "it is not open")
							}
						})
					}
					c.start(func() { assert.NoError(c.t, wait(context.Background())) })
					c.start(cancel)
					c.start(func() {
						opened.Store(true)
						open()
					})
					c.wait()
				}
			})
		})
	}
}
