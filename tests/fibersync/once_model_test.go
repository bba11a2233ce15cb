package fibersync_test

import (
	"math/rand/v2"
	"testing"

	"fiberlab/internal/history"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/suite"
)

// onceState is which of some functions have been called and have returned.
type onceState [6]bool

// onceOutcome is what a Do did: whether it called the function, and whether it gave up.
type onceOutcome struct{ called, gaveUp bool }

// onceSpec says that the first client calls the function, that others return
// when it has returned, and that a client gives up only before.
var onceSpec = history.Spec[onceState, int, onceOutcome]{
	Step: func(s onceState, k int, out onceOutcome) (bool, onceState) {
		was := s[k]
		if out.called {
			s[k] = true
		}
		return was == !(out.called || out.gaveUp), s
	},
}

func TestOnceModel(t *testing.T) {
	eachCompany(t, func(c *company) {
		const clients, operations = 8, 30
		rng := suite.NewRand(c.t)
		for range suite.Scaled(3, 1) {
			var once [len(onceState{})]fibersync.Once
			h := history.New[int, onceOutcome](clients)
			startClients(c, rng, clients, func(i int, rng *rand.Rand) {
				for n := range operations {
					k := min(n*len(once)/operations, rng.IntN(len(once)))
					h.Do(i, k, func() (out onceOutcome) {
						f := func() {
							for range rng.IntN(5) {
								pause()
							}
							out.called = true
						}
						if rng.IntN(2) == 0 {
							once[k].Do(f)
							return
						}
						ctx, cancel := lapse(rng)
						defer cancel()
						out.gaveUp = once[k].DoContext(ctx, f) != nil
						return
					})
				}
			})
			c.wait()
			onceSpec.Check(c.t, h)
		}
	})
}
