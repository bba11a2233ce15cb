package sched

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/internal/clock"
	"fiberlab/internal/idle"
)

// idleStealing is a scheduler whose workers are about to look for work. They have no threads:
// what they are given stays.
func idleStealing(t *testing.T, workers int) (*Scheduler, *stealing) {
	t.Helper()
	cfg, err := Config{Workers: workers}.checked()
	require.NoError(t, err)
	s := &Scheduler{cfg: cfg}
	for id := range workers {
		w := newWorker(s, id, multiThreaded)
		w.word.Look()
		s.workers = append(s.workers, w)
	}
	p := newStealing(s.workers)
	s.policy = p
	return s, p
}

// fallAsleep makes the worker look asleep.
func (w *Worker) fallAsleep() {
	w.word.Look()
	w.peers.BeginSleep(w.number)
	w.word.Commit(idle.OnThread)
}

// isWoken reports whether a worker that fell asleep has been notified since. Waking says so for a moment only.
func (w *Worker) isWoken() bool { return w.word.Notified() }

// shiftWake shifts the moment at which a worker that is waking was notified.
func (w *Worker) shiftWake(d time.Duration) { w.word.WokenAt.Add(int64(d)) }

// given is how many tasks each worker has.
func given(s *Scheduler) []int {
	var list []int
	for _, q := range s.policy.(*stealing).queues {
		list = append(list, q.waiting())
	}
	return list
}

var someTask = ofTask(func() {}, 0)

// Tasks from outside go to a worker that spins, then to sleeping workers, then to all in turn.
func TestTasksGoToSpinningWorkersThenSleepersThenAllInTurn(t *testing.T) {
	const workers = 4
	s, p := idleStealing(t, workers)
	s.workers[0].peers.BeginSleep(0)
	s.workers[3].peers.BeginSleep(3)
	require.True(t, s.workers[2].peers.BeginSpin(2))
	submit := func() { require.True(t, p.submit(someTask, nil)) }
	submit()
	require.Equal(t, []int{0, 0, 1, 0}, given(s), "the worker that spins")
	submit()
	submit()
	require.Equal(t, []int{1, 0, 1, 1}, given(s), "the workers that sleep")
	for range 2 * workers * inARow {
		submit()
	}
	require.Equal(t, []int{2*inARow + 1, 2 * inARow, 2*inARow + 1, 2*inARow + 1}, given(s), "all in turn")
}

// Tasks from a task go to a worker that sleeps and, while it is being woken, to both in turn. A thief
// leaves it what it has until it is awake.
func TestWorkersThatAreBeingWokenGetTheirShareAndKeepIt(t *testing.T) {
	s, p := idleStealing(t, 2)
	own, other := s.workers[0], s.workers[1]
	submit := func() { require.True(t, p.submit(someTask, own)) }
	own.word.Work()
	other.fallAsleep()
	submit()
	require.Equal(t, []int{0, 1}, given(s), "the worker that sleeps")
	other.shiftWake(time.Hour) // for this test it takes as long to wake
	for range 8 {
		submit()
	}
	require.Equal(t, []int{4, 5}, given(s), "both in turn")
	for range 4 {
		_, ok := p.next(own)
		require.True(t, ok)
	}
	require.False(t, p.seek(own, true), "it is being woken")
	require.True(t, own.local.skipped, "to look again soon")
	other.word.Work()
	require.True(t, p.seek(own, true), "it is awake")
	require.False(t, own.local.skipped)
	require.Equal(t, []int{3, 2}, given(s), "half of what waits, rounded up")
	require.EqualValues(t, 3, own.stolen.load())
}

// A sleeper that was claimed for a task which its closed queue refused looks again, so later wake-ups find it.
func TestClosedQueueLeavesNoSleeperUnseen(t *testing.T) {
	s, p := idleStealing(t, 2)
	sleeper := s.workers[1]
	sleeper.fallAsleep()
	p.setClosed(true)
	require.False(t, p.submit(someTask, nil))
	require.True(t, sleeper.isWoken(), "its mark is gone")
	sleeper.endSleep(false)
	sleeper.fallAsleep()
	p.setClosed(false)
	require.True(t, p.submit(someTask, s.workers[0]))
	require.True(t, sleeper.isWoken())
}

// A worker whose thread does not come to run keeps nothing from others.
func TestWorkersThatDoNotWakeAreStolenFrom(t *testing.T) {
	s, p := idleStealing(t, 2)
	own, other := s.workers[0], s.workers[1]
	other.fallAsleep()
	require.True(t, p.submit(someTask, own))
	other.shiftWake(time.Hour)
	require.False(t, p.seek(own, true))
	other.shiftWake(-time.Hour - idle.LongestWake)
	require.True(t, p.seek(own, true))
	require.Equal(t, []int{1, 0}, given(s))
}

// A worker that is woken for the sake of a fiber has nothing that a thief could come back for.
func TestWorkersThatAreWokenWithoutTasksAreNotSkipped(t *testing.T) {
	s, p := idleStealing(t, 2)
	own, other := s.workers[0], s.workers[1]
	other.fallAsleep()
	require.True(t, other.word.Notify())
	other.shiftWake(time.Hour)
	require.False(t, p.seek(own, true))
	require.False(t, own.local.skipped)
	require.True(t, p.give(other, someTask))
	require.False(t, p.seek(own, true))
	require.True(t, own.local.skipped, "to look again soon")
}

// A task that is put behind a busy worker wakes a sleeping worker, and not a worker that others are waking. Such a
// worker may have a fiber to run, and leave the task where it is.
func TestWakeOnePassesOverAWorkerThatIsBeingWoken(t *testing.T) {
	s, p := idleStealing(t, 3)
	for _, w := range s.workers[:2] {
		w.fallAsleep()
	}
	require.True(t, s.workers[0].word.Notify(), "as Notify does")
	p.wakeOther(nil)
	require.True(t, s.workers[1].isWoken())
	p.wakeOther(nil) // none is left
}

// A thief that leaves something behind, or has more than it can begin, wakes another one for it.
func TestThiefThatLeavesATaskWakesAnother(t *testing.T) {
	for tasks, wakes := range []bool{false, false, true, true} {
		s, p := idleStealing(t, 3)
		thief, victim, third := s.workers[0], s.workers[1], s.workers[2]
		third.fallAsleep()
		for range tasks {
			p.queues[victim.id].push(someTask, false)
		}
		require.Equal(t, tasks > 0, p.seek(thief, true))
		require.Equal(t, []int{(tasks + 1) / 2, tasks / 2, 0}, given(s))
		require.Equal(t, wakes, third.isWoken(), "%d tasks", tasks)
	}
}

// A worker that begins a task while others wait behind it wakes another for these.
func TestWorkerThatLeavesATaskWakesAnother(t *testing.T) {
	for tasks := 1; tasks <= 2; tasks++ {
		s, p := idleStealing(t, 2)
		w, other := s.workers[0], s.workers[1]
		w.word.Work()
		for range tasks {
			p.queues[w.id].push(someTask, false)
		}
		other.fallAsleep()
		_, ok := p.next(w)
		require.True(t, ok)
		require.Equal(t, tasks > 1, other.isWoken(), "%d tasks", tasks)
	}
}

// A worker that has found work wakes another one for a task that it leaves: at itself, or at a worker that is busy.
func TestWakeUpPassesOn(t *testing.T) {
	brought := func(w *Worker, p *stealing) { p.queues[w.id].push(someTask, false) }
	for name, c := range map[string]struct {
		prepare func(w, busy *Worker, p *stealing)
		passes  bool
	}{
		"nothing else":             {func(_, _ *Worker, _ *stealing) {}, false},
		"a busy worker has a task": {func(_, busy *Worker, p *stealing) { brought(busy, p) }, true},
		"a waking worker has a task": {func(_, busy *Worker, p *stealing) {
			busy.fallAsleep()
			busy.word.Notify()
			busy.shiftWake(time.Hour)
			brought(busy, p)
		}, false},
		"a task was brought": {func(w, _ *Worker, p *stealing) { brought(w, p) }, false},
		"a fiber is ready, and a task was brought": {func(w, _ *Worker, p *stealing) {
			w.local.ready.Push(&Fiber{})
			brought(w, p)
		}, true},
		"a task was brought to a worker that cannot begin it": {func(w, _ *Worker, p *stealing) {
			w.local.retry = clock.Never
			brought(w, p)
		}, true},
		"a fiber is ready": {func(w, _ *Worker, _ *stealing) { w.local.ready.Push(&Fiber{}) }, false},
	} {
		s, p := idleStealing(t, 3)
		w, busy, other := s.workers[0], s.workers[1], s.workers[2]
		busy.word.Work()
		c.prepare(w, busy, p)
		w.endSleep(false)
		w.word.Work()
		other.fallAsleep()
		p.found(w)
		require.Equal(t, c.passes, other.isWoken(), name)
	}
}

// A task that goes to a worker which was idle just now, and is busy after all, wakes one that sleeps to steal it.
func TestTaskForAWorkerThatIsBusyAfterAllWakesASleeper(t *testing.T) {
	s, p := idleStealing(t, 3)
	sleeper, claimed := s.workers[0], s.workers[2]
	claimed.word.Work()
	sleeper.fallAsleep()
	require.True(t, p.give(claimed, someTask))
	require.Equal(t, []int{0, 0, 1}, given(s))
	require.True(t, sleeper.isWoken(), "no other worker is to begin the task")
}
