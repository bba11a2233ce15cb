package sched

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/internal/clock"
	"fiberlab/internal/idle"
)

// plantedGroup is one group of workers whose threads have not been started.
func plantedGroup(t *testing.T, workers int, cfg Groups) *group {
	t.Helper()
	w, _ := plantedWith(t, Config{Workers: workers, Policy: Group, Groups: cfg})
	m := w.scheduler.policy.(*groups).of(w)
	require.Zero(t, m.worker.number)
	return m.group
}

// spin makes worker i look like one that spins.
func (g *group) spin(t *testing.T, i int) {
	w := g.workers[i]
	w.word.Look()
	require.True(t, w.peers.BeginSpin(w.number), "worker %d may spin", i)
	w.local.spun = true
}

// leaveSpin is what a worker does that has spun.
func (g *group) leaveSpin(i int) { g.workers[i].peers.EndSpin(i) }

// leave is what a worker does that has found something to run.
func (g *group) leave(i int) {
	g.workers[i].word.Work()
	g.members[i].found()
	g.workers[i].local.spun = false
}

// requireWoken checks which of the workers that were idle have been woken.
func requireWoken(t *testing.T, g *group, idle, woken []int, why string) {
	t.Helper()
	var got []int
	for _, i := range idle {
		if g.workers[i].word.Notified() {
			got = append(got, i)
		}
	}
	require.Equal(t, woken, got, why)
}

func (g *group) submitOne(t *testing.T, from int) {
	t.Helper()
	m := (*member)(nil)
	if from >= 0 {
		m = g.members[from]
	}
	require.True(t, g.submit(someTask, m))
}

// Spinner claimed: one that spins is woken, and none that sleeps; each for one thing.
func TestGroupClaimsASpinner(t *testing.T) {
	g := plantedGroup(t, 4, Groups{})
	g.workers[0].fallAsleep()
	g.spin(t, 1)
	g.spin(t, 3)
	g.submitOne(t, -1)
	requireWoken(t, g, []int{0, 1, 3}, []int{1}, "the lowest that spins")
	g.submitOne(t, -1)
	requireWoken(t, g, []int{0, 1, 3}, []int{1, 3}, "the first has been claimed")
	require.EqualValues(t, 2, g.idle.Spinners.Load())
	g.submitOne(t, -1)
	requireWoken(t, g, []int{0, 1, 3}, []int{0, 1, 3}, "none spins any more")
	require.EqualValues(t, 1, g.idle.Sleepers.Load())
}

// A worker that has been notified for something else will look for work anyway; but it is not known to take this, so
// the next one is claimed.
func TestGroupPassesOverWhatIsNotified(t *testing.T) {
	g := plantedGroup(t, 4, Groups{})
	g.spin(t, 0)
	g.spin(t, 1)
	require.True(t, g.workers[0].word.Notify(), "as a deadlock check does")
	g.submitOne(t, -1)
	requireWoken(t, g, []int{1}, []int{1}, "instead of the first")
	g.workers[2].fallAsleep()
	g.workers[3].fallAsleep()
	require.True(t, g.workers[2].word.Notify())
	g.submitOne(t, -1)
	requireWoken(t, g, []int{3}, []int{3}, "instead of the first")
	require.EqualValues(t, 1, g.idle.Spinners.Load())
	require.EqualValues(t, 1, g.idle.Sleepers.Load())
}

// No more workers spin than may.
func TestGroupSpinners(t *testing.T) {
	for _, most := range []int{-1, 1, 2, 5} {
		g := plantedGroup(t, 8, Groups{Spinners: most})
		spun := 0
		for _, w := range g.workers {
			w.word.Look()
			if w.peers.BeginSpin(w.number) {
				spun++
			}
		}
		require.Equal(t, max(most, 0), spun)
		claimed := 0
		for g.idle.Claim() >= 0 {
			claimed++
		}
		require.Equal(t, spun, claimed)
	}
}

// Sleeper claimed: the lowest number, in a group of 64 too, and each for one thing.
func TestGroupClaimsTheLowestSleeper(t *testing.T) {
	g := plantedGroup(t, 64, Groups{})
	idle := []int{5, 9, 63}
	for _, i := range []int{63, 9, 5} {
		g.workers[i].fallAsleep()
	}
	for n := range idle {
		g.submitOne(t, -1)
		requireWoken(t, g, idle, idle[:n+1], "one for each")
	}
	require.EqualValues(t, 3, g.idle.Sleepers.Load())
	require.Zero(t, g.none.Load())
}

// Woken before sleeping: a worker that is claimed after it has said that it sleeps, and before it does, stays awake.
func TestGroupWakesBeforeTheSleep(t *testing.T) {
	g := plantedGroup(t, 1, Groups{})
	w, p := g.workers[0], g.workers[0].scheduler.policy
	w.word.Look()
	require.False(t, w.hasTask())
	w.peers.BeginSleep(w.number)
	require.False(t, p.seek(w, true))
	g.submitOne(t, -1)
	require.False(t, w.word.Commit(idle.OnThread), "it would sleep while a task waits")
	w.endSleep(false)
	require.Zero(t, g.none.Load(), "it has found nothing: the wake is for itself")
}

// Claim already taken: the last look has found something, and the worker was claimed at the same time, perhaps for
// something else: then the wake is passed on. If it was not claimed, it is not.
func TestGroupPassesTheWakeOn(t *testing.T) {
	for _, claimed := range []bool{false, true} {
		g := plantedGroup(t, 3, Groups{})
		w, p := g.workers[0], g.workers[0].scheduler.policy
		g.submitOne(t, -1) // all are busy
		w.word.Look()
		w.peers.BeginSleep(w.number)
		require.True(t, p.seek(w, true))
		want := []int(nil)
		g.workers[2].fallAsleep()
		if claimed {
			g.submitOne(t, -1)
			want = []int{2}
		}
		requireWoken(t, g, []int{2}, nil, "the lower one has been claimed")
		w.endSleep(true)
		requireWoken(t, g, []int{2}, want, "for what the other was claimed for")
	}
}

// Pending wake-up: of two spinners one leaves with work; the other one wakes a sleeper in its place, once.
func TestGroupPendingWakeUp(t *testing.T) {
	g := plantedGroup(t, 4, Groups{})
	g.workers[2].fallAsleep()
	g.workers[3].fallAsleep()
	g.spin(t, 0)
	g.spin(t, 1)
	g.submitOne(t, -1)
	g.leaveSpin(0)
	g.leave(0)
	requireWoken(t, g, []int{2, 3}, nil, "the spinner that remains has nothing better to do")
	g.idle.Serve()
	g.idle.Serve()
	requireWoken(t, g, []int{1, 2, 3}, []int{2}, "once")
}

// A lone spinner that takes one thing, and was claimed for a second one, wakes a sleeper for that.
func TestGroupLoneSpinnerClaimedForASecondThing(t *testing.T) {
	g := plantedGroup(t, 2, Groups{})
	w := g.workers[0]
	g.submitOne(t, -1) // all are busy
	g.spin(t, 0)
	require.True(t, w.seek(), "it has seen the first one")
	g.workers[1].fallAsleep()
	g.submitOne(t, -1)
	requireWoken(t, g, []int{1}, nil, "the spinner has been claimed")
	g.leaveSpin(0)
	g.leave(0)
	requireWoken(t, g, []int{1}, []int{1}, "the second one would wait while a worker sleeps")
}

// All busy: no worker is woken, which is counted, and a worker that becomes idle finds what waits.
func TestGroupAllBusy(t *testing.T) {
	g := plantedGroup(t, 2, Groups{})
	for n := range 3 {
		g.submitOne(t, -1)
		require.EqualValues(t, n+1, g.none.Load())
	}
	for i, w := range g.workers {
		w.word.Look()
		require.True(t, w.hasTask(), "worker %d", i)
	}
}

// What a worker was claimed for may wait in the private queue of a busy worker. If it has other things to run, it wakes
// another one for that.
func TestGroupWakesForAPrivateQueue(t *testing.T) {
	const busy, claimed, other = 0, 1, 2
	own := func(w *Worker) { w.pushTask(someTask) }
	recalled := func(*Worker) {} // its fiber goes on, which found can only tell from what it does not find
	for name, c := range map[string]struct {
		spins bool
		runs  func(w *Worker)
		woken bool
	}{
		"a sleeper with a task of its own": {false, own, true},
		"a sleeper whose fiber goes on":    {false, recalled, true},
		"a spinner with a task of its own": {true, own, true},
		"a spinner that has seen another thing": {true, func(w *Worker) {
			w.scheduler.policy.(*groups).all[0].members[claimed].private.push(someTask, false)
		}, true},
		"a sleeper that has ended a wait": {false, func(w *Worker) {
			_, f := plantedWith(t, Config{Workers: 1, Policy: Group})
			f.worker.Store(w)
			w.local.looking = true
			w.scheduler.migration.ready(f, w)
		}, true},
		"a sleeper that has taken it over": {false, func(w *Worker) { require.True(t, w.seek()) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := plantedGroup(t, 3, Groups{Mode: AffinityMode})
			w := g.workers[claimed]
			if c.spins {
				g.spin(t, claimed)
			} else {
				w.fallAsleep()
			}
			g.workers[other].fallAsleep()
			g.submitOne(t, busy)
			requireWoken(t, g, []int{claimed, other}, []int{claimed}, "one is claimed")
			if c.spins {
				g.leaveSpin(claimed)
			} else {
				w.endSleep(false)
			}
			c.runs(w)
			g.leave(claimed)
			want := []int(nil)
			if c.woken {
				want = []int{other}
			}
			requireWoken(t, g, []int{other}, want, "for what waits behind the busy worker")
		})
	}
}

// A push to a private queue wakes its owner if that is idle, though others have lower numbers; and another one if it is
// busy, which takes it over.
func TestGroupPrivateQueueWakesItsOwner(t *testing.T) {
	g := plantedGroup(t, 3, Groups{Mode: AffinityMode})
	g.workers[0].fallAsleep()
	g.workers[2].fallAsleep()
	g.submitOne(t, 2)
	requireWoken(t, g, []int{0, 2}, []int{2}, "the owner")
	g.submitOne(t, 1)
	requireWoken(t, g, []int{0, 2}, []int{0, 2}, "the owner is busy")
	require.True(t, g.workers[0].scheduler.policy.seek(g.workers[0], true))
	require.EqualValues(t, 1, g.members[0].private.waiting())
}

// A worker that can begin nothing wakes one of its group, not of another: only that can take what waits.
func TestExhaustedWorkerWakesItsGroup(t *testing.T) {
	for _, exhausted := range []int{0, 1} {
		w, _ := plantedWith(t, Config{Workers: 4, Policy: Group, Groups: Groups{Size: 2}})
		s := w.scheduler
		p := s.policy.(*groups)
		require.True(t, p.all[exhausted].submit(someTask, nil))
		s.workers[1].fallAsleep()
		s.workers[3].fallAsleep()
		short := s.workers[2*exhausted]
		short.local.retry = clock.Never
		require.False(t, short.canBegin())
		for group, g := range p.all {
			want := []int(nil)
			if group == exhausted {
				want = []int{1}
			}
			requireWoken(t, g, []int{1}, want, "group by group")
		}
	}
}

// A stolen fiber or task of several groups wakes no worker by itself: a group sees to its own queue.
func TestGroupsWakeTheirOwnWorkers(t *testing.T) {
	w, f := plantedWith(t, Config{Workers: 4, Policy: Group, Groups: Groups{Size: 2}})
	s := w.scheduler
	p := s.policy.(*groups)
	s.workers[1].fallAsleep()
	s.workers[3].fallAsleep()
	f.worker.Store(s.workers[2])
	p.ready(f, nil)
	requireWoken(t, p.all[0], []int{1}, nil, "another group's")
	requireWoken(t, p.all[1], []int{1}, []int{1}, "the group that has run the fiber last")
	r, ok := p.next(s.workers[3])
	require.True(t, ok)
	require.Same(t, f, r.fiber())
}

// A closed group refuses tasks from outside, and nothing else.
func TestGroupCloses(t *testing.T) {
	g := plantedGroup(t, 2, Groups{})
	one := someTask
	p := g.workers[0].scheduler.policy
	p.setClosed(true)
	require.False(t, g.submit(one, nil))
	require.Zero(t, g.shared.waiting(), "refused, and queued")
	require.True(t, g.submit(one, g.members[0]), "from what its worker has taken before")
	f := &Fiber{}
	require.True(t, g.submit(ofFiber(f), nil), "a fiber always finds room")
	_, ok := g.members[0].next()
	require.True(t, ok)
	r, ok := g.members[1].next()
	require.True(t, ok)
	require.Same(t, f, r.fiber())
	p.setClosed(false)
	require.True(t, g.submit(one, nil))
}

// The test checks what a wake-up counts as.
func TestCountedWakes(t *testing.T) {
	words := make([]*idle.Word, 8)
	for i := range words {
		words[i] = idle.New(waker)
	}
	g := filled(0)
	g.idle = idle.NewSet(words, 2, nil)
	fallAsleep := func(i int) {
		words[i].Look()
		g.idle.BeginSleep(i)
	}
	count := func() [3]uint64 {
		s := g.stats()
		return [3]uint64{s.NoWorker, s.Spinners, s.Sleepers}
	}
	push := func() { assert.True(t, g.submit(ofTask(func() {}, 0), nil)) }
	push()
	assert.Equal(t, [3]uint64{1, 0, 0}, count(), "all are busy")
	words[3].Look()
	g.idle.BeginSpin(3)
	assert.True(t, g.idle.WakeOne())
	assert.Equal(t, [3]uint64{1, 1, 0}, count(), "one spins")
	fallAsleep(5)
	assert.True(t, g.idle.WakeOne())
	assert.True(t, g.idle.EndSleep(5), "it was claimed")
	assert.Equal(t, [3]uint64{1, 1, 1}, count(), "one sleeps")

	fallAsleep(5)
	assert.False(t, g.idle.EndSleep(5), "it woke by itself")

	fallAsleep(5)
	words[5].Work() // it has been notified for something else
	push()
	assert.Equal(t, [3]uint64{2, 1, 1}, count(), "the only one has been notified already")
	assert.True(t, g.idle.EndSleep(5))
	fallAsleep(5)
	assert.True(t, g.idle.WakeThat(5))
	assert.False(t, g.idle.WakeThat(5))
	assert.Equal(t, [3]uint64{2, 1, 2}, count(), "one in particular")
}
