package sched

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The ring keeps the latest, in order; the counts keep all.
func TestRecorderRing(t *testing.T) {
	for _, written := range []int{0, 3, 4, 5, 8, 11} {
		r := NewRecorder(4)
		part := r.forWorker(2)
		for i := range written {
			part.add(i, Idle, Running, WhyCarry)
		}
		var fibers []int
		for _, e := range r.Events() {
			require.Equal(t, 2, e.Worker)
			require.True(t, mayGo(e.From, e.To, e.Why))
			fibers = append(fibers, e.Fiber)
		}
		var want []int
		for i := max(0, written-4); i < written; i++ {
			want = append(want, i)
		}
		require.Equal(t, want, fibers, "%d written", written)
		counts := r.Transitions()
		require.Equal(t, uint64(written), counts.Of(Idle, Running))
		require.Equal(t, uint64(written), counts.Total())
	}
}

func TestRecorderMergesWorkersByTime(t *testing.T) {
	r := NewRecorder(100)
	parts := []*ring{r.forWorker(0), r.forWorker(1)}
	for i := range 60 {
		parts[i*7/3%2].add(i, Running, Queued, WhyYield)
	}
	events := r.Events()
	require.Len(t, events, 60)
	for i, e := range events {
		require.GreaterOrEqual(t, e.At, events[max(0, i-1)].At)
	}
}

func TestRecorderThatOnlyCounts(t *testing.T) {
	r := NewRecorder(-1)
	r.forWorker(0).add(1, Running, Waiting, WhyWait)
	require.Empty(t, r.Events())
	counts := r.Transitions()
	require.Equal(t, uint64(1), counts.Of(Running, Waiting))
	require.Nil(t, (*Recorder)(nil).forWorker(0))
}
