package fibersync_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/park"
	"fiberlab/tests/internal/check"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// In whichever order they begin to wait, they are called in the order of their
// tickets, and one at a time.
func TestTicketsAreCalledInOrder(t *testing.T) {
	eachCompany(t, func(c *company) {
		var q fibersync.TicketQueue
		var order schedtest.Journal[int]
		var inside atomic.Int64
		n := suite.Scaled(40, 16)
		tickets, wanted := make([]*fibersync.Ticket, n), make([]int, n)
		for i := range tickets {
			tickets[i], wanted[i] = q.Take(), i
		}
		turn := func(i int) {
			assert.EqualValues(c.t, 1, inside.Add(1))
			order.Add(i)
			pause()
			inside.Add(-1)
			tickets[i].Done()
		}
		for _, i := range suite.NewRand(c.t).Perm(n) {
			if i%3 == 0 {
				c.start(func() {
					over := schedtest.NewLatch(1)
					mine := i
					tickets[i].OnCall(func() {
						turn(mine)
						over.Done()
					})
					over.Wait()
				})
				continue
			}
			c.start(func() {
				tickets[i].Wait()
				turn(i)
				tickets[i].Wait()
			})
		}
		c.wait()
		assert.Equal(c.t, wanted, order.All())
		next := q.Take()
		next.Wait()
		next.Done()
	})
}

// A ticket that is done before its call is passed over, once its turn has come.
func TestTicketDoneEarlyIsPassedOver(t *testing.T) {
	eachCompany(t, func(c *company) {
		var q fibersync.TicketQueue
		first, second, third, fourth := q.Take(), q.Take(), q.Take(), q.Take()
		third.Done()
		second.Done()
		var released atomic.Bool
		for _, ticket := range []*fibersync.Ticket{second, third, fourth} {
			c.start(func() {
				ticket.Wait()
				assert.True(c.t, released.Load())
			})
		}
		pause()
		released.Store(true)
		first.Done()
		c.wait()
		fifth := q.Take()
		over := schedtest.NewLatch(1)
		fifth.OnCall(over.Done)
		fourth.Done()
		over.Wait()
	})
}

func TestTicketCallsAllItsWaiters(t *testing.T) {
	eachCompany(t, func(c *company) {
		var q fibersync.TicketQueue
		first, second := q.Take(), q.Take()
		over := schedtest.NewLatch(2)
		second.OnCall(over.Done)
		second.OnCall(over.Done)
		for range 6 {
			c.start(second.Wait)
		}
		c.start(first.Done)
		over.Wait()
	})
}

// A call starts the function beside its caller.
func TestTicketOnCallRunsBesideTheCaller(t *testing.T) {
	eachCompany(t, func(c *company) {
		var q fibersync.TicketQueue
		first, second := q.Take(), q.Take()
		over := schedtest.NewLatch(2)
		var mine *sched.Scheduler
		second.OnCall(func() {
			assert.Same(c.t, mine, sched.Get())
			over.Done()
		})
		c.start(func() {
			mine = sched.Get()
			first.Done()
			second.OnCall(func() { // at once
				assert.Same(c.t, mine, sched.Get())
				over.Done()
			})
			over.Wait()
		})
	})
}

// Each is told of its call or of its context, whichever comes first, and the queue
// goes on all the same.
func TestTicketStormOfCancelsAndCalls(t *testing.T) {
	eachCompany(t, func(c *company) {
		random := suite.NewRand(c.t)
		for range suite.Scaled(20, 5) {
			var q fibersync.TicketQueue
			var inside atomic.Int64
			ctx, cancel := context.WithCancel(context.Background())
			for range 6 {
				rest := random.IntN(3)
				c.start(func() {
					ticket := q.Take()
					if err := ticket.WaitContext(ctx); err != nil {
						assert.Equal(c.t, context.Canceled, err)
					} else {
						assert.EqualValues(c.t, 1, inside.Add(1))
						for range rest {
							pause()
						}
						inside.Add(-1)
					}
					ticket.Done()
				})
			}
			c.start(cancel)
			c.wait()
			q.Take().Wait()
		}
	})
}

func TestTicketMisuse(t *testing.T) {
	var q fibersync.TicketQueue
	first, second := q.Take(), q.Take()
	second.Done()
	check.PanicsWith(t, fibersync.ErrDone, second.Done)
	first.Done()
	check.PanicsWith(t, fibersync.ErrDone, first.Done)
	check.PanicsWith(t, fibersync.ErrNilFunc, func() { first.OnCall(nil) })
	q.Take().Wait()
}

// If nothing can be started, a goroutine does it.
func TestTicketOnCallWithoutAScheduler(t *testing.T) {
	asHelpless(t, func() {
		var q fibersync.TicketQueue
		called := make(chan struct{})
		q.Take().OnCall(func() { close(called) })
		<-called
	})
}

// atOnce is a client that starts a function by calling it.
type atOnce struct{ park.Parker }

func (atOnce) StartNow(f func()) error {
	f()
	return nil
}

// What is to run on the call of a ticket does not, if the ticket is given back before. It would run beside the next
// ticket's.
func TestTicketDoneEarlyStartsNothing(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		root.SetValue(atOnce{park.NewGoroutine()})
		defer root.SetValue(nil)
		var q fibersync.TicketQueue
		first, second := q.Take(), q.Take()
		started := 0
		count := func() { started++ }
		second.OnCall(count)
		second.Done()
		second.OnCall(count)
		first.Done()
		second.OnCall(count)
		assert.Zero(t, started, "functions of a ticket that was given back")
		q.Take().OnCall(count)
		assert.Equal(t, 1, started, "functions of the next one")
	})
}
