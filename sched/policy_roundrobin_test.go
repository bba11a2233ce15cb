package sched

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Tasks and fibers come out in the order in which they came in, whichever worker asks.
func TestRoundRobinKeepsTheOrder(t *testing.T) {
	w, f := planted(t, RoundRobin)
	p := w.scheduler.policy.(*roundRobin)
	require.False(t, p.has(w))
	_, ok := p.next(w)
	require.False(t, ok)
	require.True(t, p.submit(ofTask(func() {}, 1), w))
	p.ready(f, nil)
	require.True(t, p.submit(ofTask(func() {}, 2), nil))
	require.Equal(t, 3, p.pending(nil))
	var got []any
	for i := range 3 {
		r, ok := p.next(w.scheduler.workers[i%2])
		require.True(t, ok)
		if r.fiber() != nil {
			got = append(got, r.fiber())
		} else {
			got = append(got, r.flags)
		}
	}
	require.Equal(t, []any{Flags(1), f, Flags(2)}, got)
}

// A worker that takes a fiber or nothing leaves the tasks in their order.
func TestRoundRobinTakesFibersPastTasks(t *testing.T) {
	w, f := planted(t, RoundRobin)
	p := w.scheduler.policy.(*roundRobin)
	for flags := range Flags(4) {
		if flags == 2 {
			p.ready(f, nil)
		}
		require.True(t, p.submit(ofTask(func() {}, flags), nil))
	}
	require.Nil(t, p.nextFiber(w, false), "a task is first")
	require.Same(t, f, p.nextFiber(w, true))
	require.Nil(t, p.nextFiber(w, true), "only tasks are left")
	for flags := range Flags(4) {
		r, ok := p.next(w)
		require.True(t, ok)
		require.Equal(t, flags, r.flags)
	}
	p.ready(f, nil)
	require.Same(t, f, p.nextFiber(w, false))
}

// Whatever is queued wakes a worker that sleeps, one for each thing, and none that has been woken otherwise.
func TestRoundRobinWakesAWorkerForEachThing(t *testing.T) {
	w, f := planted(t, RoundRobin)
	s := w.scheduler
	p, other := s.policy.(*roundRobin), s.workers[1]
	other.fallAsleep()
	p.submit(ofTask(func() {}, 0), w)
	require.True(t, other.isWoken(), "for a task")
	other.endSleep(false)
	other.fallAsleep()
	p.ready(f, nil)
	require.True(t, other.isWoken(), "for a fiber")
	for _, sleeper := range s.workers {
		sleeper.fallAsleep()
	}
	require.True(t, w.word.Notify(), "as a deadlock check does")
	p.submit(ofTask(func() {}, 0), nil)
	require.True(t, other.isWoken(), "the first that sleeps has been woken for something else")
}

// A worker that looks for work runs the first fiber that it makes ready itself. For a second one it wakes another
// worker. A bound goroutine runs none of them.
func TestRoundRobinLookingWorkerTakesOneFiber(t *testing.T) {
	w, f := planted(t, RoundRobin)
	p, other := w.scheduler.policy.(*roundRobin), w.scheduler.workers[1]
	w.local.looking = true
	other.fallAsleep()
	p.ready(f, w)
	require.False(t, other.isWoken(), "it takes the fiber")
	p.ready(f, w)
	require.True(t, other.isWoken(), "it takes one fiber alone")
	other.endSleep(false)
	other.fallAsleep()
	bound := newWorker(w.scheduler, 2, singleThreaded)
	bound.local.looking = true
	p.ready(f, bound)
	require.True(t, other.isWoken(), "a bound goroutine has made it ready")
}

// A worker that takes one thing of several, or has found something of its own, wakes another for the rest.
func TestRoundRobinPassesWakeUpsOn(t *testing.T) {
	for _, c := range []struct {
		queued int
		own    bool
		passes bool
	}{{0, false, false}, {0, true, false}, {1, false, false}, {1, true, true}, {2, false, true}, {2, true, true}} {
		w, f := planted(t, RoundRobin)
		p, other := w.scheduler.policy.(*roundRobin), w.scheduler.workers[1]
		for range c.queued {
			p.submit(ofTask(func() {}, 0), w)
		}
		if c.own {
			w.local.ready.Push(f)
		}
		other.fallAsleep()
		p.found(w)
		require.Equal(t, c.passes, other.isWoken(), "%+v", c)
	}
}

// A closed queue refuses tasks from outside, and nothing else.
func TestRoundRobinCloses(t *testing.T) {
	w, f := planted(t, RoundRobin)
	p := w.scheduler.policy.(*roundRobin)
	p.setClosed(true)
	require.False(t, p.submit(someTask, nil))
	require.True(t, p.submit(someTask, w), "from what its worker has taken before")
	_, _ = p.next(w)
	p.ready(f, nil)
	r, ok := p.next(w)
	require.True(t, ok, "the fiber is lost")
	require.Same(t, f, r.fiber())
	p.setClosed(false)
	require.True(t, p.submit(someTask, nil))
}
