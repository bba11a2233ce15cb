package fibersync_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched/fibersync"
)

// isClosed reports whether a receive from done would return at once.
func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// doneCase makes a primitive that is not done. It returns its Done and what makes it done.
type doneCase func() (done func() <-chan struct{}, finish func())

var doneCases = map[string]doneCase{
	"Latch": func() (func() <-chan struct{}, func()) {
		l := fibersync.NewLatch(1)
		return l.Done, l.CountDown
	},
	"Future": func() (func() <-chan struct{}, func()) {
		var p fibersync.Promise[int]
		return p.Future().Done, func() { p.Set(1) }
	},
	"Future that fails": func() (func() <-chan struct{}, func()) {
		var p fibersync.Promise[int]
		return p.Future().Done, func() { p.Fail(errors.New("a failure")) }
	},
	"WaitGroup": func() (func() <-chan struct{}, func()) {
		var g fibersync.WaitGroup
		g.Add(2)
		g.Done()
		return g.Zero, g.Done
	},
	"Event": func() (func() <-chan struct{}, func()) {
		var e fibersync.Event
		return e.Done, e.Signal
	},
	"Event, manual": func() (func() <-chan struct{}, func()) {
		e := fibersync.NewEvent(fibersync.ManualReset, false)
		return e.Done, e.Signal
	},
	"Ticket": func() (func() <-chan struct{}, func()) {
		var q fibersync.TicketQueue
		first, second := q.Take(), q.Take()
		return second.Called, first.Done
	},
}

// The channel is closed when the primitive is done, whether it is asked for before or after.
func TestDoneIsClosedWhenThePrimitiveIsDone(t *testing.T) {
	eachCompany(t, func(c *company) {
		for name, prepare := range doneCases {
			done, finish := prepare()
			before := done()
			assert.False(c.t, isClosed(before), "%s: closed too early", name)
			assert.Equal(c.t, before, done(), "%s: another channel for the same end", name)
			c.goroutine(func() { <-before })
			c.start(finish)
			c.wait()
			assert.True(c.t, isClosed(done()), "%s: not closed at the end", name)

			done, finish = prepare()
			finish()
			assert.True(c.t, isClosed(done()), "%s: not closed when asked for after the end", name)
		}
	})
}

// A wait and the channel end together, in either order of coming.
func TestDoneBesideWaits(t *testing.T) {
	eachCompany(t, func(c *company) {
		l := fibersync.NewLatch(3)
		for range 4 {
			c.start(l.Wait)
			done := l.Done()
			c.goroutine(func() { <-done })
		}
		for range 3 {
			c.start(l.CountDown)
		}
	})
}

// What can become not done again has a new channel then.
func TestDoneOfTheNextRound(t *testing.T) {
	var g fibersync.WaitGroup
	assert.True(t, isClosed(g.Zero()), "nothing is counted")
	for range 3 {
		g.Add(1)
		zero := g.Zero()
		assert.False(t, isClosed(zero), "the channel of another round")
		g.Done()
		assert.True(t, isClosed(zero))
	}
	var e fibersync.Event
	for range 3 {
		done := e.Done()
		assert.False(t, isClosed(done), "the channel of another signal")
		e.Signal()
		assert.True(t, isClosed(done))
		assert.True(t, e.Test(), "the channel has taken the signal")
	}
}
