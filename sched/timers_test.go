package sched

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/internal/clock"
)

// The heap against a sorted slice; deadlines that are equal count as one.
func TestWaitingFibersAgainstSlice(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var w waitingFibers
	var model []*Fiber
	byDeadline := func(a, b *Fiber) int { return int(a.deadline - b.deadline) }
	for range 20_000 {
		switch r.IntN(3) {
		case 0:
			f := &Fiber{}
			w.add(f, clock.Instant(r.IntN(1000)))
			model = append(model, f)
		case 1:
			if len(model) > 0 {
				i := r.IntN(len(model))
				w.remove(model[i])
				model = slices.Delete(model, i, i+1)
			}
		case 2:
			by := clock.Instant(r.IntN(1000))
			f := w.take(by)
			if len(model) == 0 || slices.MinFunc(model, byDeadline).deadline > by {
				require.Nil(t, f)
				break
			}
			require.Equal(t, slices.MinFunc(model, byDeadline).deadline, f.deadline)
			i := slices.Index(model, f)
			require.GreaterOrEqual(t, i, 0, "a fiber that was not there")
			model = slices.Delete(model, i, i+1)
		}
		require.Equal(t, len(model) == 0, w.empty())
		want := clock.Never
		if len(model) > 0 {
			want = slices.MinFunc(model, byDeadline).deadline
		}
		require.Equal(t, want, w.next())
	}
	for i, f := range w.fibers {
		require.Equal(t, i, f.position)
	}
	heap.Init(&w.fibers)
}
