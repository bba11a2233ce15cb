package fibersync_test

import (
	"math/rand/v2"
	"testing"

	"fiberlab/internal/history"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/suite"
)

// waitGroupSpec is a number. A wait sees whether it is zero, and may give up only as long as
// it is not.
var waitGroupSpec = history.Spec[int, int, bool]{Step: func(count, delta int, out bool) (bool, int) {
	if delta != 0 {
		return count+delta >= 0, count + delta
	}
	return out == (count == 0), count
}}

// A client that has added something does not wait without end before it is done; so all waits end.
func TestWaitGroupModel(t *testing.T) {
	eachCompany(t, func(c *company) {
		const clients, operations = 8, 30
		rng := suite.NewRand(c.t)
		for range suite.Scaled(3, 1) {
			var g fibersync.WaitGroup
			h := history.New[int, bool](clients)
			startClients(c, rng, clients, func(i int, rng *rand.Rand) {
				mine := 0
				add := func(delta int) {
					mine += delta
					h.Do(i, delta, func() bool { g.Add(delta); return true })
				}
				for range operations {
					switch choice := rng.IntN(6); {
					case choice == 0:
						add(1 + rng.IntN(2))
					case choice <= 3 && mine > 0:
						add(-1 - rng.IntN(mine))
					case choice == 4 && mine == 0:
						h.Do(i, 0, func() bool { g.Wait(); return true })
					case choice == 5:
						pause()
						fallthrough
					default:
						ctx, cancel := lapse(rng)
						h.Do(i, 0, func() bool { return g.WaitContext(ctx) == nil })
						cancel()
					}
				}
				if mine > 0 {
					add(-mine)
				}
			})
			c.wait()
			waitGroupSpec.Check(c.t, h)
		}
	})
}
