package fibersync_test

import (
	"math/rand/v2"
	"testing"

	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/suite"
)

// onceState is which of some functions have been called and have returned.
type onceState [6]bool

// onceOutcome is what a Do did: whether it called the function, and whether it gave up.
type onceOutcome struct{ called, gaveUp bool }

// onceSpec says that a function is called by one who finds it not called, that others return
// when it has been, and that who gives up does so before.
var onceSpec = spec[onceState, int, onceOutcome]{step: func(s onceState, k int, out onceOutcome) (bool, onceState) {
	was := s[k]
	if out.called {
		s[k] = true
	}
	return was == !(out.called || out.gaveUp), s
}}

func TestOnceModel(t *testing.T) {
	eachCompany(t, func(c *company) {
		const parties, operations = 8, 30
		rng := suite.NewRand(c.t)
		for range suite.Scaled(3, 1) {
			var once [len(onceState{})]fibersync.Once
			h := newHistory[int, onceOutcome](parties)
			startParties(c, rng, parties, func(i int, rng *rand.Rand) {
				for n := range operations {
					k := min(n*len(once)/operations, rng.IntN(len(once)))
					h.do(i, k, func() (out onceOutcome) {
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
			onceSpec.check(c.t, h)
		}
	})
}
