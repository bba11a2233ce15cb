package fibersync_test

import (
	"context"
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

// poolItem knows whether it is lent, and to how many.
type poolItem struct {
	id      int
	holders atomic.Int32
	fresh   bool
}

// poolItems numbers the items that it makes.
func poolItems(made *atomic.Int32) fibersync.Items[*poolItem] {
	return fibersync.Items[*poolItem]{Make: func() *poolItem { return &poolItem{id: int(made.Add(1)), fresh: true} }}
}

func TestPoolLendsAnItemToOneAtATime(t *testing.T) {
	eachCompany(t, func(c *company) {
		const clients, items = 12, 3
		rounds := suite.Scaled(20, 5)
		var made, extra, shared atomic.Int32
		bounded := fibersync.NewBoundedPool(items, poolItems(&made))
		unbounded := fibersync.NewUnboundedPool(poolItems(&extra))
		hold := func(loan fibersync.Loan[*poolItem]) {
			item := *loan.Get()
			if item.holders.Add(1) != 1 {
				shared.Add(1)
			}
			pause()
			item.holders.Add(-1)
			loan.Return()
		}
		for range clients {
			c.start(func() {
				for range rounds {
					hold(bounded.Borrow())
					hold(unbounded.Borrow())
					if loan, ok := bounded.TryBorrow(); ok {
						hold(loan)
					}
				}
			})
		}
		c.wait()
		assert.Zero(c.t, shared.Load(), "items that several held")
		assert.EqualValues(c.t, items, made.Load())
		assert.Equal(c.t, items, bounded.Free())
		assert.LessOrEqual(c.t, extra.Load(), int32(clients))
		assert.EqualValues(c.t, extra.Load(), unbounded.Free(), "of those made, how many are back")
	})
}

// Waiters come in a known order, for each begins when its predecessor is queued; none
// may overtake them.
func TestPoolServesInOrder(t *testing.T) {
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
		const waiters = 6
		pool := fibersync.NewBoundedPool(1, fibersync.Items[int]{})
		var order schedtest.Journal[int]
		over := schedtest.NewLatch(waiters)
		schedtest.Perform(t, s, func() {
			loan := pool.Borrow()
			for i := range waiters {
				var begun atomic.Bool
				schedtest.Schedule(t, s, func() {
					defer over.Done()
					begun.Store(true)
					own := pool.Borrow() // on the one thread, no other client runs before it waits
					order.Add(i)
					sched.Yield()
					own.Return()
				})
				for !begun.Load() {
					sched.Yield()
				}
			}
			_, ok := pool.TryBorrow()
			assert.False(t, ok)
			loan.Return()
			_, ok = pool.TryBorrow()
			assert.False(t, ok, "TryBorrow overtakes waiters")
		})
		over.Wait()
		assert.Equal(t, []int{0, 1, 2, 3, 4, 5}, order.All())
	})
}

// Borrowing gives up at any time, while items come back: none may be lost, and none lent in error.
func TestPoolStormOfCancelsAndReturns(t *testing.T) {
	eachCompany(t, func(c *company) {
		rng := suite.NewRand(c.t)
		var wrong atomic.Int32
		for range suite.Scaled(15, 4) {
			const items = 2
			pool := fibersync.NewBoundedPool(items, fibersync.Items[int]{})
			ctx, cancel := context.WithCancel(context.Background())
			for range 8 {
				turns := rng.IntN(5)
				c.start(func() {
					for range turns {
						pause()
					}
					short, stop := context.WithTimeout(ctx, time.Duration(turns)*50*time.Microsecond)
					defer stop()
					loan, err := pool.BorrowContext(short)
					if err != nil {
						// A deadline counts even if the context has not noticed it yet.
						if deadline, _ := short.Deadline(); short.Err() == nil && time.Now().Before(deadline) {
							wrong.Add(1) // it gave up early
						}
						return
					}
					pause()
					loan.Return()
				})
			}
			c.start(cancel)
			c.wait()
			assert.Equal(c.t, items, pool.Free(), "items that are back")
		}
		assert.Zero(c.t, wrong.Load())
	})
}

func TestPoolResetsWhatComesBack(t *testing.T) {
	makes, resets := 0, 0
	items := fibersync.Items[string]{
		Make:  func() string { makes++; return "new" },
		Reset: func(s *string) { resets++; *s += ", reset" },
	}
	bounded, unbounded := fibersync.NewBoundedPool(1, items), fibersync.NewUnboundedPool(items)
	for _, borrow := range []func() fibersync.Loan[string]{bounded.Borrow, unbounded.Borrow} {
		makes, resets = 0, 0
		loan := borrow()
		assert.Equal(t, "new", *loan.Get())
		loan.Return()
		loan = borrow()
		assert.Equal(t, "new, reset", *loan.Get())
		loan.Return()
		assert.Equal(t, 2, resets)
	}
	assert.Equal(t, 1, makes, "of the unbounded pool")
	_, ok := fibersync.NewUnboundedPool(items).TryBorrow()
	assert.False(t, ok, "TryBorrow makes items")
	kept := fibersync.NewBoundedPool(1, fibersync.Items[int]{})
	loan := kept.Borrow()
	*loan.Get() = 5
	loan.Return()
	assert.Equal(t, 5, *kept.Borrow().Get(), "without Reset it is as it was left")
}

func TestPoolOutlivesPanicsOfItsItems(t *testing.T) {
	failing := true
	fail := func() {
		if failing {
			panic(errDAGNode)
		}
	}
	bounded := fibersync.NewBoundedPool(1, fibersync.Items[int]{Reset: func(*int) { fail() }})
	loan := bounded.Borrow()
	check.PanicsWith(t, errDAGNode, loan.Return)
	assert.Equal(t, 1, bounded.Free(), "an item is lost if its Reset panics")
	unbounded := fibersync.NewUnboundedPool(fibersync.Items[int]{Make: func() int { fail(); return 1 }})
	check.PanicsWith(t, errDAGNode, func() { unbounded.Borrow() })
	failing = false
	bounded.Borrow().Return()
	unbounded.Borrow().Return()
}

// A loan knows whether it has an item, in each of its copies.
func TestPoolLoanHolds(t *testing.T) {
	var none fibersync.Loan[int]
	assert.False(t, none.Holds())
	bounded, unbounded := fibersync.NewBoundedPool(
		1, fibersync.Items[int]{},
	), fibersync.NewUnboundedPool(
		fibersync.Items[int]{},
	)
	for _, borrow := range []func() fibersync.Loan[int]{bounded.Borrow, unbounded.Borrow} {
		loan := borrow()
		same := loan
		assert.True(t, loan.Holds())
		assert.True(t, same.Holds())
		loan.Return()
		assert.False(t, loan.Holds())
		assert.False(t, same.Holds())
		next := borrow() // of the same item
		assert.False(t, same.Holds())
		assert.True(t, next.Holds())
		next.Return()
	}
	lost, ok := fibersync.NewUnboundedPool(fibersync.Items[int]{}).TryBorrow()
	assert.False(t, ok)
	assert.False(t, lost.Holds())
}

func TestPoolMisuse(t *testing.T) {
	check.PanicsWith(t, fibersync.ErrNegative, func() { fibersync.NewBoundedPool(-1, fibersync.Items[int]{}) })
	pool := fibersync.NewBoundedPool(1, fibersync.Items[int]{})
	loan := pool.Borrow()
	same := loan
	loan.Return()
	check.PanicsWith(t, fibersync.ErrReturned, loan.Return)
	check.PanicsWith(t, fibersync.ErrReturned, same.Return)
	check.PanicsWith(t, fibersync.ErrReturned, func() { same.Get() })
	next := pool.Borrow() // of the same item
	check.PanicsWith(t, fibersync.ErrReturned, loan.Return)
	next.Return()
	assert.Equal(t, 1, pool.Free())
	var none fibersync.Loan[int]
	check.PanicsWith(t, fibersync.ErrReturned, none.Return)
	check.PanicsWith(t, fibersync.ErrReturned, func() { none.Get() })
}
