package fibersync_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/schedtest"
)

// lastMoment is a context that is over, and at the moment when a waiter finds
// that out, does something else first.
type lastMoment struct {
	context.Context
	first sync.Once
	do    func()
}

// Err implements context.Context.
func (l *lastMoment) Err() error {
	l.first.Do(l.do)
	return context.Canceled
}

// lastMomentCase makes something to wait for, and returns what fulfils the wait, and the wait.
type lastMomentCase func(c *company) (fulfil func(), wait func(ctx context.Context) error)

var lastMomentCases = map[string]lastMomentCase{
	"Latch": func(c *company) (func(), func(context.Context) error) {
		l := fibersync.NewLatch(1)
		return l.CountDown, l.WaitContext
	},
	"Cond": func(c *company) (func(), func(context.Context) error) {
		cond := fibersync.NewCond(&sync.Mutex{})
		return cond.Signal, func(ctx context.Context) error { return condWait(cond, ctx) }
	},
	"Event": func(c *company) (func(), func(context.Context) error) {
		var e fibersync.Event
		return e.Signal, func(ctx context.Context) error {
			defer func() { assert.False(c.t, e.IsSignalled()) }()
			return e.WaitContext(ctx)
		}
	},
	"WaitGroup": func(c *company) (func(), func(context.Context) error) {
		var g fibersync.WaitGroup
		g.Add(1)
		return g.Done, g.WaitContext
	},
	"Barrier": func(c *company) (func(), func(context.Context) error) {
		b := fibersync.NewBarrier(2)
		return func() { assert.Equal(c.t, 1, b.Wait()) }, func(ctx context.Context) error {
			place, err := b.WaitContext(ctx)
			assert.Zero(c.t, place)
			return err
		}
	},
	"Mutex": func(c *company) (func(), func(context.Context) error) {
		var m fibersync.Mutex
		return heldUntil(
			c, m.Lock, m.Unlock,
		), func(ctx context.Context) error { return freed(m.LockContext(ctx), m.Unlock) }
	},
	"RWMutex, writer": func(c *company) (func(), func(context.Context) error) {
		var m fibersync.RWMutex
		return heldUntil(
			c, m.RLock, m.RUnlock,
		), func(ctx context.Context) error { return freed(m.LockContext(ctx), m.Unlock) }
	},
	"RWMutex, reader": func(c *company) (func(), func(context.Context) error) {
		var m fibersync.RWMutex
		return heldUntil(
			c, m.Lock, m.Unlock,
		), func(ctx context.Context) error { return freed(m.RLockContext(ctx), m.RUnlock) }
	},
	"Semaphore": func(c *company) (func(), func(context.Context) error) {
		s := fibersync.NewSemaphore(2)
		s.Acquire(1)
		return func() { s.Release(1) }, func(ctx context.Context) error {
			defer func() { assert.False(c.t, s.TryAcquire(1), "the units that it was given") }()
			return s.AcquireContext(ctx, 2)
		}
	},
	"Once": func(c *company) (func(), func(context.Context) error) {
		var once fibersync.Once
		finish := onceBegun(c, &once, func() {})
		return func() {
			finish()
			once.Do(nil)
		}, func(ctx context.Context) error { return once.DoContext(ctx, nil) }
	},
	"Channel, received from": func(c *company) (func(), func(context.Context) error) {
		ch := fibersync.NewChannel[int](0)
		return func() { ch.Send(5) }, func(ctx context.Context) error {
			v, err := ch.ReceiveContext(ctx)
			assert.Equal(c.t, 5, v)
			return err
		}
	},
	"Channel, sent to": func(c *company) (func(), func(context.Context) error) {
		var got int
		ch := fibersync.NewChannel[int](0)
		return func() { got, _ = ch.Receive() }, func(ctx context.Context) error {
			defer func() { assert.Equal(c.t, 5, got) }()
			return ch.SendContext(ctx, 5)
		}
	},
	"Select": func(c *company) (func(), func(context.Context) error) {
		numbers, words := fibersync.NewChannel[int](0), fibersync.NewChannel[string](0)
		return func() { numbers.Send(5) }, func(ctx context.Context) error {
			var got int
			i, err := fibersync.Select(ctx, words.OnSend("", nil), numbers.OnReceive(func(v int, _ bool) { got = v }))
			assert.Equal(c.t, []any{1, 5}, []any{i, got})
			_, _, received := words.TryReceive()
			assert.False(c.t, received, "a send that was given up has left its value behind")
			return err
		}
	},
	"Future": func(c *company) (func(), func(context.Context) error) {
		var p fibersync.Promise[int]
		return func() { p.Set(5) }, func(ctx context.Context) error {
			v, err := p.Future().GetContext(ctx)
			assert.Equal(c.t, 5, v)
			return err
		}
	},
	"Ticket": func(c *company) (func(), func(context.Context) error) {
		var q fibersync.TicketQueue
		first, second := q.Take(), q.Take()
		return first.Done, second.WaitContext
	},
	"BoundedPool": func(c *company) (func(), func(context.Context) error) {
		pool := fibersync.NewBoundedPool(1, fibersync.Items[int]{})
		return pool.Borrow().Return, func(ctx context.Context) error {
			loan, err := pool.BorrowContext(ctx)
			assert.Zero(c.t, pool.Free())
			loan.Return()
			return err
		}
	},
}

// heldUntil has one of the company lock something. The function that it returns has that one
// unlock it, and returns then.
func heldUntil(c *company, lock, unlock func()) (free func()) {
	locked, end, ended := schedtest.NewLatch(1), schedtest.NewLatch(1), schedtest.NewLatch(1)
	c.start(func() {
		lock()
		locked.Done()
		end.Wait()
		unlock()
		ended.Done()
	})
	locked.Wait()
	return func() {
		end.Done()
		ended.Wait()
	}
}

// freed unlocks what has been locked, if err is nil, and returns err.
func freed(err error, unlock func()) error {
	if err == nil {
		unlock()
	}
	return err
}

// Each wait is fulfilled when it has seen that its time is over, and has not left the queue
// yet: it must not be reported as a failure.
func TestHandOffAtTheLastMomentIsTaken(t *testing.T) {
	eachCompany(t, func(c *company) {
		for name, prepare := range lastMomentCases {
			fulfil, wait := prepare(c)
			ctx := &lastMoment{Context: context.Background(), do: fulfil}
			c.start(func() { assert.NoError(c.t, wait(ctx), name) })
		}
	})
}
