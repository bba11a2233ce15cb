package fibersync_test

import (
	"testing"

	"fiberlab/internal/history"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/suite"
)

// semaphoreDo is an operation on a semaphore, with its number of units.
type semaphoreDo struct {
	what  string
	units int64
}

const semaphoreUnits = 4

// semaphoreSpec specifies a semaphore of semaphoreUnits; the state is the number of acquired units. An attempt may fail
// if it asks for more units than are free, or while a client waits. A client can wait only while some units are
// acquired.
var semaphoreSpec = history.Spec[int64, semaphoreDo, bool]{
	Step: func(used int64, in semaphoreDo, ok bool) (bool, int64) {
		switch in.what {
		case "release":
			return used >= in.units, used - in.units
		case "acquireContext", "tryAcquire":
			if !ok {
				return in.what == "acquireContext" || used > 0, used
			}
		}
		return used+in.units <= semaphoreUnits, used + in.units
	},
}

func TestSemaphoreIsLinearizable(t *testing.T) {
	eachCompany(t, func(c *company) {
		rng := suite.NewRand(c.t)
		for range suite.Scaled(5, 2) {
			h := history.New[semaphoreDo, bool](lockClients)
			s := fibersync.NewSemaphore(semaphoreUnits)
			for _, p := range lockPlans(rng) {
				c.start(func() {
					for range 15 {
						semaphoreTurn(h, s, p)
						p.cancelAny()
					}
				})
			}
			c.wait()
			semaphoreSpec.Check(c.t, h)
		}
	})
}

// semaphoreTurn is one client's turn: it acquires some units and gives them back, some at
// a time.
func semaphoreTurn(h *history.History[semaphoreDo, bool], s *fibersync.Semaphore, p *lockPlan) {
	n := 1 + p.rng.Int64N(semaphoreUnits)
	var had bool
	switch p.rng.IntN(3) {
	case 0:
		had = h.Do(p.client, semaphoreDo{"tryAcquire", n}, func() bool { return s.TryAcquire(n) })
	case 1:
		ctx, cancel := p.context()
		defer cancel()
		had = h.Do(p.client, semaphoreDo{"acquireContext", n}, func() bool { return s.AcquireContext(ctx, n) == nil })
	default:
		had = h.Do(p.client, semaphoreDo{"acquire", n}, func() bool { s.Acquire(n); return true })
	}
	p.maybePause()
	for n > 0 && had {
		part := 1 + p.rng.Int64N(n)
		h.Do(p.client, semaphoreDo{"release", part}, func() bool { s.Release(part); return true })
		n -= part
		p.maybePause()
	}
}
