package fibersync_test

import (
	"math/rand/v2"
	"testing"

	"fiberlab/internal/history"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/suite"
)

// latchSpec is a number that goes down to zero. Waits and looks see whether it is zero; a
// wait may give up only as long as it is not.
var latchSpec = func(n int) history.Spec[int, string, bool] {
	return history.Spec[int, string, bool]{Start: n, Step: func(left int, in string, out bool) (bool, int) {
		if in == "count down" {
			return left > 0, left - 1
		}
		return out == (left == 0), left
	}}
}

func TestLatchModel(t *testing.T) {
	eachCompany(t, func(c *company) {
		const clients, counts, operations = 8, 10, 30
		rng := suite.NewRand(c.t)
		for range suite.Scaled(3, 1) {
			l, h := fibersync.NewLatch(clients*counts), history.New[string, bool](clients)
			startClients(c, rng, clients, func(i int, rng *rand.Rand) {
				left := counts
				for n := range operations {
					switch choice := rng.IntN(4); {
					case left > 0 && (choice == 0 || operations-n <= left):
						left--
						h.Do(i, "count down", func() bool { l.CountDown(); return true })
					case choice == 1:
						ctx, cancel := lapse(rng)
						h.Do(i, "wait a moment", func() bool { return l.WaitContext(ctx) == nil })
						cancel()
					case choice == 2 && left == 0:
						h.Do(i, "wait", func() bool { l.Wait(); return true })
					case choice == 3:
						pause()
						fallthrough
					default:
						h.Do(i, "look", l.Open)
					}
				}
			})
			c.wait()
			latchSpec(clients*counts).Check(c.t, h)
		}
	})
}
