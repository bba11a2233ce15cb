package fibersync_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/check"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

func TestBarrierGivesPlacesInTheOrderOfComing(t *testing.T) {
	eachCompany(t, func(c *company) {
		const parties = 6
		b := fibersync.NewBarrier(parties)
		for range 3 {
			queueUp(c, parties-1, context.Background(), func(i int, ctx context.Context) {
				place, err := b.WaitContext(ctx)
				assert.NoError(c.t, err)
				assert.Equal(c.t, i, place)
			})
			assert.Equal(c.t, parties-1, b.Wait(), "the last")
			c.wait()
		}
	})
}

// A client that gives up has not come, and the others get the places of the parties that have.
func TestBarrierDoesNotCountAClientThatGivesUp(t *testing.T) {
	eachCompany(t, func(c *company) {
		const parties = 5
		b, gone := fibersync.NewBarrier(parties), schedtest.NewLatch(1)
		come := func(n, place int) {
			queueUp(c, n, context.Background(), func(i int, ctx context.Context) {
				got, err := b.WaitContext(ctx)
				assert.NoError(c.t, err)
				assert.Equal(c.t, place+i, got)
			})
		}
		quitting, cancel := context.WithCancel(context.Background())
		come(1, 0)
		queueUp(c, 1, quitting, func(_ int, ctx context.Context) {
			defer gone.Done()
			place, err := b.WaitContext(ctx)
			assert.Equal(c.t, -1, place)
			assert.ErrorIs(c.t, err, context.Canceled)
		})
		come(2, 1)
		cancel()
		gone.Wait()
		come(1, 3)
		assert.Equal(c.t, parties-1, b.Wait())
	})
}

// barrierVisit is one wait of one client, with the stamps of its last call and its return.
type barrierVisit struct {
	place     int
	call, ret int64
}

// Clients that give up at random come again until the barrier lets them through. Then the history of each phase must be
// one that a barrier allows: all had come when the first went on, and each place occurs once.
func TestBarrierModel(t *testing.T) {
	eachCompany(t, func(c *company) {
		const parties, phases = 8, 30
		rng := suite.NewRand(c.t)
		for range suite.Scaled(3, 1) {
			b := fibersync.NewBarrier(parties)
			var clock atomic.Int64
			var visits [parties][phases]barrierVisit
			startClients(c, rng, parties, func(me int, rng *rand.Rand) {
				for phase := range phases {
					v := barrierVisit{place: -1}
					for v.place < 0 {
						v.call = clock.Add(1)
						if rng.IntN(3) == 0 {
							v.place = b.Wait()
						} else {
							ctx, cancel := lapse(rng)
							v.place, _ = b.WaitContext(ctx)
							cancel()
						}
						v.ret = clock.Add(1)
					}
					visits[me][phase] = v
				}
			})
			c.wait()
			for phase := range phases {
				places := map[int]bool{}
				last, first := int64(0), clock.Load()
				for me := range parties {
					v := visits[me][phase]
					places[v.place] = true
					assert.Less(c.t, v.place, parties)
					last, first = max(last, v.call), min(first, v.ret)
				}
				assert.Len(c.t, places, parties, "places in phase %d", phase)
				assert.Less(c.t, last, first, "the first of phase %d went on before the last had come", phase)
			}
		}
	})
}

// Twice as many as the barrier is for: any of them make up a phase.
func TestBarrierServesMoreThanItsParties(t *testing.T) {
	eachCompany(t, func(c *company) {
		const parties = 4
		phases := int64(suite.Scaled(200, 40))
		b := fibersync.NewBarrier(parties)
		var waits atomic.Int64
		var places [parties]atomic.Int64
		for range 2 * parties {
			c.start(func() {
				for waits.Add(1) <= phases*parties {
					places[b.Wait()].Add(1)
				}
			})
		}
		c.wait()
		for i := range places {
			assert.Equal(c.t, phases, places[i].Load(), "place %d", i)
		}
	})
}

func TestBarrierMisuse(t *testing.T) {
	check.PanicsWith(t, fibersync.ErrNoParties, func() { fibersync.NewBarrier(0) })
	check.PanicsWith(t, fibersync.ErrNoParties, func() { fibersync.NewBarrier(-1) })
	var zero fibersync.Barrier
	check.PanicsWith(t, fibersync.ErrNoParties, func() { zero.Wait() })
	alone := fibersync.NewBarrier(1)
	assert.Zero(t, alone.Wait())
	assert.Zero(t, alone.Wait())
}
