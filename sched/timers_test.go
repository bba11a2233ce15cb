package sched

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/internal/clock"
)

// The heap against a slice; timers with equal deadlines count as one.
func TestTimersAgainstSlice(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var heap timers
	var model []*timer
	earliest := func() clock.Instant {
		if len(model) == 0 {
			return clock.Never
		}
		return slices.MinFunc(model, func(a, b *timer) int { return int(a.deadline - b.deadline) }).deadline
	}
	drop := func(one *timer) {
		i := slices.Index(model, one)
		require.GreaterOrEqual(t, i, 0, "a timer that was not there")
		model = slices.Delete(model, i, i+1)
	}
	for range 20_000 {
		switch r.IntN(3) {
		case 0:
			one := &timer{deadline: clock.Instant(r.IntN(1000))}
			heap.add(one)
			model = append(model, one)
		case 1:
			if len(model) > 0 {
				one := model[r.IntN(len(model))]
				heap.remove(one)
				drop(one)
				require.Zero(t, one.position)
			}
		case 2:
			by := clock.Instant(r.IntN(1000))
			one := heap.take(by)
			if earliest() > by {
				require.Nil(t, one)
				break
			}
			require.NotNil(t, one)
			require.Equal(t, earliest(), one.deadline)
			require.Zero(t, one.position)
			drop(one)
		}
		require.Equal(t, earliest(), heap.next())
		require.Len(t, heap.heap, len(model))
	}
	for i, one := range heap.heap {
		require.Equal(t, i+1, one.position)
	}
}
