package sched

import (
	"testing"
	"time"

	"fiberlab/internal/bitset"

	"github.com/stretchr/testify/require"
)

// idleWorkers is a scheduler whose workers are about to look for work. They have no threads:
// what they are given stays.
func idleWorkers(t *testing.T, workers int) *Scheduler {
	cfg, err := Config{Workers: workers}.checked()
	require.NoError(t, err)
	s := &Scheduler{cfg: cfg, spinning: newSpinning(), asleep: bitset.New(workers)}
	for id := range workers {
		w := newWorker(s, id, multiThreaded)
		w.bell.hush()
		s.workers = append(s.workers, w)
	}
	return s
}

// fallAsleep makes the worker look like one that sleeps.
func (w *Worker) fallAsleep() {
	w.bell.word.Store(slumber)
	w.scheduler.asleep.Add(w.id)
}

// given is how many tasks each worker has, those included that it has taken to itself.
func (s *Scheduler) given() []int {
	var list []int
	for _, w := range s.workers {
		list = append(list, int(w.inbox.waiting.Load())+w.work.tasks.Len())
	}
	return list
}

// Tasks from outside go to a worker that spins, then to those that sleep, then to all in turn.
func TestEnqueueChoosesSpinningWorkersThenSleepersThenAllInTurn(t *testing.T) {
	const workers = 4
	s := idleWorkers(t, workers)
	enqueue := func() { require.NoError(t, s.Enqueue(Task{Func: func() {}})) }

	s.asleep.Add(0)
	s.asleep.Add(3)
	require.NotEqual(t, -1, s.spinning.enter(2))
	enqueue()
	require.Equal(t, []int{0, 0, 1, 0}, s.given(), "the one that spins")
	enqueue()
	enqueue()
	require.Equal(t, []int{1, 0, 1, 1}, s.given(), "those that sleep")
	for range 2 * workers {
		enqueue()
	}
	require.Equal(t, []int{3, 2, 3, 3}, s.given(), "all in turn")
}

// Tasks from a task go to a worker that sleeps and, while it is being woken, to both in turn. A thief
// leaves it what it has until it is awake.
func TestWorkersThatAreBeingWokenGetTheirShareAndKeepIt(t *testing.T) {
	s := idleWorkers(t, 2)
	own, other := s.workers[0], s.workers[1]
	enqueue := func() { require.NoError(t, s.enqueue(Task{Func: func() {}}, own)) }
	own.bell.busy()
	other.fallAsleep()

	enqueue()
	require.Equal(t, []int{0, 1}, s.given(), "the one that sleeps")
	other.bell.since.Add(int64(time.Hour)) // for this test it takes as long to wake
	for range 8 {
		enqueue()
	}
	require.Equal(t, []int{4, 5}, s.given(), "both in turn")
	require.False(t, own.steal(true), "it is being woken")
	require.True(t, own.spared)
	other.bell.busy()
	for range 3 {
		enqueue()
	}
	require.Equal(t, []int{7, 5}, s.given(), "the one that the caller runs on")
	require.True(t, own.steal(true), "it is awake")
	require.False(t, own.spared)
	require.Equal(t, []int{10, 2}, s.given())
}

// A worker whose thread does not come to run keeps nothing from others.
func TestWorkersThatDoNotWakeAreStolenFrom(t *testing.T) {
	s := idleWorkers(t, 2)
	own, other := s.workers[0], s.workers[1]
	other.fallAsleep()
	require.NoError(t, s.enqueue(Task{Func: func() {}}, own))
	other.bell.since.Add(int64(time.Hour))
	require.False(t, own.steal(true))
	other.bell.since.Add(-int64(time.Hour + longestWake))
	require.True(t, own.steal(true))
	require.Equal(t, []int{1, 0}, s.given())
}

// A worker that is woken for the sake of a fiber has nothing that a thief could come back for.
func TestWhoIsWokenWithoutTasksIsNotSpared(t *testing.T) {
	s := idleWorkers(t, 2)
	own, other := s.workers[0], s.workers[1]
	other.bell.word.Store(slumber)
	require.True(t, other.bell.ring())
	other.bell.since.Add(int64(time.Hour)) // for this test it takes as long to wake
	require.False(t, own.steal(true))
	require.False(t, own.spared)
	require.True(t, other.offer(job{Func: func() {}}))
	require.False(t, own.steal(true))
	require.True(t, own.spared)
}

// What is put behind a busy worker wakes one that sleeps, and not one that others are waking: that
// may have a fiber to run and leave the task where it is.
func TestRousePassesByWhoIsBeingWoken(t *testing.T) {
	s := idleWorkers(t, 3)
	for _, w := range s.workers[:2] {
		w.fallAsleep()
	}
	require.True(t, s.workers[0].bell.ring(), "as Notify does")
	s.rouse()
	require.EqualValues(t, roused, s.workers[1].bell.word.Load())
	s.rouse() // nobody is left
}

// A thief that leaves something behind wakes another one for it.
func TestThiefThatLeavesATaskWakesAnother(t *testing.T) {
	for _, tasks := range []int{1, 2} {
		s := idleWorkers(t, 3)
		thief, victim, third := s.workers[0], s.workers[1], s.workers[2]
		third.fallAsleep()
		for range tasks {
			victim.work.tasks.Push(job{Func: func() {}})
		}
		require.True(t, thief.stealFrom(victim, true))
		require.Equal(t, []int{1, tasks - 1, 0}, s.given())
		require.Equal(t, tasks > 1, third.bell.word.Load() != slumber, "of %d", tasks)
	}
}
