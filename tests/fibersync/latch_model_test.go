package fibersync_test

import (
	"math/rand/v2"
	"testing"

	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/suite"
)

// latchSpec is a number that goes down to zero. Waits and looks see whether it is zero; a
// wait may give up only as long as it is not.
var latchSpec = func(n int) spec[int, string, bool] {
	return spec[int, string, bool]{start: n, step: func(left int, in string, out bool) (bool, int) {
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
			l, h := fibersync.NewLatch(clients*counts), newHistory[string, bool](clients)
			startClients(c, rng, clients, func(i int, rng *rand.Rand) {
				left := counts
				for n := range operations {
					switch choice := rng.IntN(4); {
					case left > 0 && (choice == 0 || operations-n <= left):
						left--
						h.do(i, "count down", func() bool { l.CountDown(); return true })
					case choice == 1:
						ctx, cancel := lapse(rng)
						h.do(i, "wait a moment", func() bool { return l.WaitContext(ctx) == nil })
						cancel()
					case choice == 2 && left == 0:
						h.do(i, "wait", func() bool { l.Wait(); return true })
					case choice == 3:
						pause()
						fallthrough
					default:
						h.do(i, "look", l.Open)
					}
				}
			})
			c.wait()
			latchSpec(clients*counts).check(c.t, h)
		}
	})
}
