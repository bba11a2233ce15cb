package fibersync_test

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/check"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// contextCase makes something that has to be waited for. It returns a wait, and what makes it
// possible for a waiter.
type contextCase func() (wait func(ctx context.Context) error, fulfil func())

var contextCases = map[string]contextCase{
	"Latch": func() (func(context.Context) error, func()) {
		l := fibersync.NewLatch(1)
		return l.WaitContext, l.CountDown
	},
	"Mutex": func() (func(context.Context) error, func()) {
		var m fibersync.Mutex
		m.Lock()
		return func(ctx context.Context) error { return freed(m.LockContext(ctx), m.Unlock) }, m.Unlock
	},
	"RWMutex, writer": func() (func(context.Context) error, func()) {
		var m fibersync.RWMutex
		m.RLock()
		return func(ctx context.Context) error { return freed(m.LockContext(ctx), m.Unlock) }, m.RUnlock
	},
	"RWMutex, reader": func() (func(context.Context) error, func()) {
		var m fibersync.RWMutex
		m.Lock()
		return m.RLockContext, m.Unlock
	},
	"Semaphore": func() (func(context.Context) error, func()) {
		var s = fibersync.NewSemaphore(1)
		s.Acquire(1)
		return func(ctx context.Context) error { return s.AcquireContext(ctx, 1) }, func() { s.Release(1) }
	},
	"Event": func() (func(context.Context) error, func()) {
		var e fibersync.Event
		return e.WaitContext, e.Signal
	},
	"WaitAny": func() (func(context.Context) error, func()) {
		var e fibersync.Event
		return func(ctx context.Context) error {
			_, err := fibersync.WaitAnyContext(ctx, &e)
			return err
		}, e.Signal
	},
	"WaitGroup": func() (func(context.Context) error, func()) {
		var g fibersync.WaitGroup
		g.Add(1)
		return g.WaitContext, g.Done
	},
	"Once": func() (func(context.Context) error, func()) {
		var once fibersync.Once
		begun, finished := schedtest.NewLatch(1), schedtest.NewLatch(1)
		go once.Do(func() {
			begun.Done()
			finished.Wait()
		})
		begun.Wait()
		return func(ctx context.Context) error { return once.DoContext(ctx, nil) }, finished.Done
	},
	"Cond": func() (func(context.Context) error, func()) {
		cond := fibersync.NewCond(&sync.Mutex{})
		return func(ctx context.Context) error { return condWait(cond, ctx) }, cond.Signal
	},
	"Barrier": func() (func(context.Context) error, func()) {
		b := fibersync.NewBarrier(2)
		return func(ctx context.Context) error {
			_, err := b.WaitContext(ctx)
			return err
		}, func() { b.Wait() }
	},
	"Channel, receiver": func() (func(context.Context) error, func()) {
		ch := fibersync.NewChannel[int](0)
		return func(ctx context.Context) error {
			_, err := ch.ReceiveContext(ctx)
			return err
		}, func() { ch.Send(1) }
	},
	"Channel, sender": func() (func(context.Context) error, func()) {
		ch := fibersync.NewChannel[int](0)
		return func(ctx context.Context) error { return ch.SendContext(ctx, 1) }, func() { ch.Receive() }
	},
	"Select": func() (func(context.Context) error, func()) {
		ch := fibersync.NewChannel[int](0)
		receive := ch.OnReceive(nil)
		return func(ctx context.Context) error {
			_, err := fibersync.Select(ctx, receive)
			return err
		}, func() { ch.Send(1) }
	},
	"Future": func() (func(context.Context) error, func()) {
		var p fibersync.Promise[int]
		return func(ctx context.Context) error {
			_, err := p.Future().GetContext(ctx)
			return err
		}, func() { p.Set(1) }
	},
	"Ticket": func() (func(context.Context) error, func()) {
		var q fibersync.TicketQueue
		first, second := q.Take(), q.Take()
		return second.WaitContext, first.Done
	},
	"BoundedPool": func() (func(context.Context) error, func()) {
		p := fibersync.NewBoundedPool(1, fibersync.Items[int]{})
		loan := p.Borrow()
		return func(ctx context.Context) error {
			_, err := p.BorrowContext(ctx)
			return err
		}, loan.Return
	},
}

// The zero value of a context type cannot be asked. Wait finds this out before the caller stands in the queue.
// Otherwise others would hand something to a waiter that has left.
func TestContextThatIsNoneLeavesNoWaiter(t *testing.T) {
	eachCompany(t, func(c *company) {
		for name, prepare := range contextCases {
			wait, fulfil := prepare()
			assert.Panics(c.t, func() { _ = wait(struct{ context.Context }{}) }, name)
			s := newStanding(context.Background())
			c.start(func() { assert.NoError(c.t, wait(s), name) })
			s.inLine.Wait()
			fulfil()
			c.wait()
		}
	})
}

// A fiber that must not block panics instead of waiting, and does so before it stands in the queue.
func TestWaitInUnlockLeavesNoWaiter(t *testing.T) {
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
		c := &company{t: t, s: s}
		for name, prepare := range contextCases {
			wait, fulfil := prepare()
			c.perform(func() {
				lock := &condLock{unlock: func() { _ = wait(context.Background()) }}
				check.PanicsWith(t, sched.ErrInWait, func() { sched.Current().Wait(lock, nil) })
			})
			queueUp(c, 1, context.Background(), func(_ int, ctx context.Context) { assert.NoError(t, wait(ctx), name) })
			fulfil()
			c.wait()
		}
	})
}

// Nor does such a fiber have anything called that it would have to wait for.
func TestCallInUnlockCallsNothing(t *testing.T) {
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
		c := &company{t: t, s: s}
		var called atomic.Int64
		f := func() { called.Add(1) }
		d := fan(t, 2, func(struct{}) { f() })
		for name, call := range map[string]func(){
			"BlockingCall":        func() { fibersync.BlockingCall(f) },
			"BlockingCallContext": func() { _ = fibersync.BlockingCallContext(context.Background(), f) },
			"On":                  func() { _ = fibersync.On(s, f) },
			"Parallelize":         func() { fibersync.Parallelize(f, f) },
			"DAG":                 func() { d.Run(struct{}{}) },
		} {
			c.perform(func() {
				me := sched.Current()
				lock := &condLock{unlock: func() { call(); me.Notify() }}
				check.PanicsWith(t, sched.ErrInWait, func() { sched.Current().Wait(lock, nil) })
			})
			c.perform(func() {}) // a task that was started has begun before
			assert.Zero(t, called.Swap(0), name)
		}
	})
}

func TestContextMustNotBeNil(t *testing.T) {
	var done fibersync.Once
	done.Do(func() {})
	waits := map[string]func(context.Context) error{
		"free Mutex":           new(fibersync.Mutex).LockContext,
		"free RWMutex, writer": new(fibersync.RWMutex).LockContext,
		"free RWMutex, reader": new(fibersync.RWMutex).RLockContext,
		"Once that is done":    func(ctx context.Context) error { return done.DoContext(ctx, nil) },
	}
	for name, prepare := range contextCases {
		waits[name], _ = prepare()
	}
	for name, wait := range waits {
		t.Run(name, func(t *testing.T) { check.PanicsWith(t, fibersync.ErrNilContext, func() { _ = wait(nil) }) })
	}
}

// foreignContext is a context of another implementation. Package context needs a goroutine to watch
// it, for as long as a client wants to be told of its end.
type foreignContext struct {
	context.Context
	done chan struct{}
}

func (f foreignContext) Done() <-chan struct{} { return f.done }

// A wait that has been fulfilled does not report the end of its context.
func TestContextIsLetGoAfterTheWait(t *testing.T) {
	eachCompany(t, func(c *company) {
		for name, prepare := range contextCases {
			wait, fulfil := prepare()
			ctx := foreignContext{context.Background(), make(chan struct{})}
			queueUp(c, 1, ctx, func(_ int, ctx context.Context) { assert.NoError(c.t, wait(ctx), name) })
			fulfil()
			c.wait()
		}
	})
}

// lateContext is a context that is not over when its deadline comes, since its timer is late.
type lateContext struct {
	context.Context
	deadline time.Time
}

func (l lateContext) Deadline() (time.Time, bool) { return l.deadline, true }

// A wait ends when its context is over, and not before: its caller finds the context so.
func TestContextIsOverWhenTheWaitIs(t *testing.T) {
	cases := maps.Clone(contextCases)
	delete(cases, "Once") // which would have to be fulfilled before the test ends
	cases["BlockingCall"] = func() (func(context.Context) error, func()) {
		end := make(chan struct{})
		return func(ctx context.Context) error {
			defer close(end)
			return fibersync.BlockingCallContext(ctx, func() { <-end })
		}, func() {}
	}
	eachCompany(t, func(c *company) {
		parent, cancel := context.WithCancel(context.Background())
		ctx := lateContext{parent, time.Now().Add(time.Millisecond)}
		ended := make(map[string]*schedtest.Latch)
		for name, prepare := range cases {
			wait, _ := prepare()
			over := schedtest.NewLatch(1)
			ended[name] = over
			c.start(func() {
				defer over.Done()
				err := wait(ctx)
				assert.ErrorIs(c.t, err, context.Canceled, name)
				assert.Equal(c.t, err, ctx.Err(), name)
			})
		}
		for time.Since(ctx.deadline) < 2*time.Millisecond {
			pause()
		}
		for name, over := range ended {
			assert.False(c.t, over.IsOpen(), "%s: the wait has ended before its context", name)
		}
		cancel()
	})
}
