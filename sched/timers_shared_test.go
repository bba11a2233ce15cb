package sched

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/internal/clock"
)

// Whenever a worker that was to see to the earliest deadline gets work, another one is woken to do so.
func TestSomeWorkerWatchesTheEarliestDeadline(t *testing.T) {
	workers := [3]*Worker{{id: 0}, {id: 1}, {id: 2}}
	woken := 0
	var s sharedTimers
	s.init(func() { woken++ })
	expect := func(want int, why string) {
		t.Helper()
		require.Equal(t, want, woken, why)
		woken = 0
	}
	late, early, between := &timer{deadline: 300}, &timer{deadline: 100}, &timer{deadline: 200}

	s.watch(workers[0])
	s.leave(workers[0])
	expect(0, "there is no deadline")
	s.add(late)
	expect(1, "sleeping workers have no limit")
	s.leave(workers[0])
	expect(1, "the woken worker has found work before it could sleep until then")
	s.watch(workers[1])
	s.watch(workers[2])
	s.leave(workers[1])
	s.leave(workers[0])
	expect(0, "another worker watches")
	s.add(early)
	expect(1, "the watcher would sleep too long")
	s.leave(workers[0])
	expect(1, "no worker is known to sleep until the new deadline")
	s.watch(workers[0])
	s.add(between)
	expect(0, "it is not the earliest")
	s.leave(workers[0])
	expect(1, "it was the watcher")
	for _, one := range []*timer{early, late, between} {
		s.remove(one)
		s.remove(one) // it has run out, or been removed
	}
	require.Equal(t, clock.Never, s.next())
	s.leave(workers[0])
	expect(0, "there is no deadline left")
}
