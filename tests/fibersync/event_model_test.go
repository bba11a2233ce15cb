package fibersync_test

import (
	"math/rand/v2"
	"testing"

	"fiberlab/internal/history"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/suite"
)

// eventSpec is a flag. A wait takes it as Test does, and may give up only as long as it
// is not set.
func eventSpec(mode fibersync.EventMode) history.Spec[bool, string, bool] {
	return history.Spec[bool, string, bool]{Step: func(signalled bool, in string, out bool) (bool, bool) {
		switch in {
		case "signal":
			return true, true
		case "clear":
			return true, false
		case "look":
			return out == signalled, signalled
		default: // wait or test
			return out == signalled, signalled && mode == fibersync.ManualReset
		}
	}}
}

func TestEventModel(t *testing.T) {
	eachCompany(t, func(c *company) {
		const clients, operations = 8, 30
		rng := suite.NewRand(c.t)
		for n := range suite.Scaled(4, 2) {
			mode := fibersync.EventMode(n % 2)
			e, h := fibersync.NewEvent(mode, false), history.New[string, bool](clients)
			startClients(c, rng, clients, func(i int, rng *rand.Rand) {
				for range operations {
					switch rng.IntN(7) {
					case 0, 1:
						h.Do(i, "signal", func() bool { e.Signal(); return true })
					case 2:
						h.Do(i, "clear", func() bool { e.Clear(); return true })
					case 3:
						h.Do(i, "test", e.Test)
					case 4:
						h.Do(i, "look", e.IsSignalled)
						pause()
					default:
						ctx, cancel := lapse(rng)
						h.Do(i, "wait", func() bool { return e.WaitContext(ctx) == nil })
						cancel()
					}
				}
			})
			c.wait()
			eventSpec(mode).Check(c.t, h)
		}
	})
}
