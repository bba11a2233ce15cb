package fibersync_test

import (
	"context"
	"testing"
	"time"

	"fiberlab/internal/history"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/suite"
)

// A pool of n items is n things to be had: histories of borrowing and returning.
func TestPoolIsLinearizable(t *testing.T) {
	eachCompany(t, func(c *company) {
		const clients, items = 6, 2
		free := history.Spec[int, string, bool]{Start: items, Step: func(free int, in string, ok bool) (bool, int) {
			switch {
			case in == "return":
				return true, free + 1
			case ok:
				return free > 0, free - 1
			default: // only clients that try or give up go without
				return in == "give up" || in == "try" && free == 0, free
			}
		}}
		rng := suite.NewRand(c.t)
		for range suite.Scaled(3, 1) {
			h := history.New[string, bool](clients)
			pool := fibersync.NewBoundedPool(items, fibersync.Items[int]{})
			for i := range clients {
				plan := make([]int, 10)
				for j := range plan {
					plan[j] = rng.IntN(4)
				}
				c.start(func() {
					for _, choice := range plan {
						poolTurn(h, pool, i, choice)
					}
				})
			}
			c.wait()
			free.Check(c.t, h)
		}
	})
}

// poolTurn borrows in one way or another, and returns what it has got.
func poolTurn(h *history.History[string, bool], pool *fibersync.BoundedPool[int], client, choice int) {
	var loan fibersync.Loan[int]
	var got bool
	switch choice {
	case 0:
		got = h.Do(client, "try", func() (ok bool) {
			loan, ok = pool.TryBorrow()
			return ok
		})
	case 1:
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Microsecond)
		defer cancel()
		got = h.Do(client, "give up", func() bool {
			var err error
			loan, err = pool.BorrowContext(ctx)
			return err == nil
		})
	default:
		got = h.Do(client, "borrow", func() bool {
			loan = pool.Borrow()
			return true
		})
	}
	if got {
		pause()
		h.Do(client, "return", func() bool {
			loan.Return()
			return true
		})
	}
}
