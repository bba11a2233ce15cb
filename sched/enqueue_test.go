package sched

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Tasks from outside go to a worker that spins, then to those that sleep, then to all
// in turn. The workers of this scheduler have no threads: what they are given stays.
func TestEnqueueChoosesSpinningWorkersThenSleepersThenAllInTurn(t *testing.T) {
	const workers = 4
	cfg, err := Config{Workers: workers}.checked()
	require.NoError(t, err)
	s := &Scheduler{cfg: cfg, spinning: newSpinning(), asleep: newBitset(workers)}
	for id := range workers {
		w := newWorker(s, id, MultiThreaded)
		w.bell.hush() // each is about to look for work
		s.workers = append(s.workers, w)
	}
	given := func() []int {
		var list []int
		for _, w := range s.workers {
			list = append(list, int(w.inbox.waiting.Load()))
		}
		return list
	}
	enqueue := func() { require.NoError(t, s.Enqueue(Task{Func: func() {}})) }

	s.asleep.add(0)
	s.asleep.add(3)
	require.NotEqual(t, -1, s.spinning.enter(2))
	enqueue()
	require.Equal(t, []int{0, 0, 1, 0}, given(), "the one that spins")
	enqueue()
	enqueue()
	require.Equal(t, []int{1, 0, 1, 1}, given(), "those that sleep")
	for range 2 * workers {
		enqueue()
	}
	require.Equal(t, []int{3, 2, 3, 3}, given(), "all in turn")
}
