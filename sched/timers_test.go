package sched

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/internal/clock"
)

// The heap against a slice; timers with equal deadlines count as one.
func TestTimersAgainstSlice(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	heap, w, f := newTimers(nil), new(Worker), new(Fiber)
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
			one := &timer{deadline: clock.Instant(r.IntN(1000)), fiber: f}
			heap.add(w, one)
			model = append(model, one)
		case 1:
			if len(model) > 0 {
				one := model[r.IntN(len(model))]
				heap.stop(one)
				drop(one)
				require.Zero(t, one.position)
			}
		case 2:
			by := clock.Instant(r.IntN(1000))
			one := heap.takeDue(by)
			if earliest() > by {
				require.Zero(t, one)
				break
			}
			require.Equal(t, timer{deadline: earliest(), fiber: f}, one)
			i := slices.IndexFunc(model, func(m *timer) bool { return m.position == 0 })
			require.GreaterOrEqual(t, i, 0, "a timer that is still in the heap")
			drop(model[i])
		}
		require.Equal(t, earliest(), heap.next())
		require.Len(t, heap.heap, len(model))
	}
	for i, one := range heap.heap {
		require.Equal(t, i+1, one.position)
	}
}

// threeWorkers have timers in common, and numbers that do not begin with 0. wakes counts the requests to wake one of
// them.
func threeWorkers() (g *timers, workers []*Worker, wakes *int) {
	wakes = new(int)
	g = newTimers(func() { *wakes++ })
	for id := 5; id < 8; id++ {
		workers = append(workers, &Worker{id: id, timers: g})
	}
	return g, workers, wakes
}

// Whenever a worker that was to see to the earliest deadline gets work, another one is woken to do so.
func TestSomeWorkerWatchesTheEarliestDeadline(t *testing.T) {
	g, workers, wakes := threeWorkers()
	expect := func(want int, why string) {
		t.Helper()
		require.Equal(t, want, *wakes, why)
		*wakes = 0
	}
	late, early, between := &timer{deadline: 300}, &timer{deadline: 100}, &timer{deadline: 200}

	require.Equal(t, clock.Never, g.watch(workers[0]))
	g.leave(workers[0])
	expect(0, "there is no deadline")
	g.add(workers[1], late)
	expect(0, "the worker that adds a timer will sleep, or leave")
	g.leave(workers[0])
	expect(0, "another worker sees to the deadline")
	g.leave(workers[1])
	expect(1, "the worker that has added the timer runs something else")
	g.leave(workers[0])
	expect(1, "the woken worker has found work before it could sleep until then")
	require.EqualValues(t, 300, g.watch(workers[2]))
	require.EqualValues(t, 300, g.watch(workers[2]), "it has woken, and sleeps again")
	require.Equal(t, clock.Never, g.watch(workers[1]), "another worker watches")
	g.leave(workers[1])
	g.leave(workers[0])
	expect(0, "another worker watches")
	g.add(workers[2], early)
	g.leave(workers[0])
	expect(0, "the worker that adds a timer will sleep, or leave")
	g.leave(workers[2])
	expect(1, "the worker that slept before would sleep too long")
	g.leave(workers[0])
	expect(1, "no worker is known to sleep until the new deadline")
	g.watch(workers[0])
	g.add(workers[0], between)
	expect(0, "it is the earliest of its worker, but not of all")
	g.leave(workers[0])
	expect(1, "it was the watcher")
	for _, one := range []*timer{early, late, between} {
		g.stop(one)
		g.stop(one) // it has run out, or been removed
	}
	require.Equal(t, clock.Never, g.next())
	g.leave(workers[0])
	expect(0, "there is no deadline left")
}

// A fiber that takes its wait back runs on: its worker does not see to the deadlines that are left.
func TestUnblockedFiberWatchesNoDeadline(t *testing.T) {
	w, f := planted(t, RoundRobin)
	sleeper := w.scheduler.workers[1]
	w.timers.add(sleeper, &timer{deadline: 300})
	sleeper.fallAsleep()
	f.block(100, parked)
	require.True(t, f.unblock())
	require.EqualValues(t, 300, w.timers.next())
	require.Zero(t, w.timers.watcher.Load(), "the worker that runs the fiber does not watch")
	require.True(t, sleeper.isWoken(), "nor is another one known to")
}

// A fiber that sleeps again and again does so on one worker: its deadlines wake no other.
func TestTimedWaitsWakeNoOtherWorker(t *testing.T) {
	const sleeps = 100
	for _, p := range []Policy{RoundRobin, Group} {
		s, err := New(Config{Workers: 2, Policy: p})
		require.NoError(t, err)
		ended := make(chan struct{})
		require.NoError(t, s.Go(func() {
			defer close(ended)
			for range sleeps {
				Sleep(200 * time.Microsecond)
			}
		}))
		<-ended
		require.NoError(t, s.Close())
		require.Less(t, s.sets[0].Sleepers.Load(), uint64(sleeps/2), p)
	}
}

// All groups have one heap, so a fiber that another group has stolen takes its timer out of it.
func TestTimerOfAFiberThatChangesItsGroup(t *testing.T) {
	w, f := plantedWith(
		t, Config{Workers: 2, Policy: Group, Groups: Groups{Size: 1, StealEvery: func(int, int) int { return 1 }}},
	)
	other := w.scheduler.workers[1]
	require.Same(t, w.timers, other.timers)
	f.block(100, 0)
	f.publish()
	require.EqualValues(t, 100, w.timers.next())
	require.True(t, f.wake(0))
	require.True(t, other.seek(), "it can be stolen")
	r, ok := w.scheduler.policy.next(other)
	require.True(t, ok)
	require.Same(t, f, r.fiber())
	f.worker.Store(other)
	require.False(t, f.resume())
	require.Equal(t, clock.Never, w.timers.next())
	require.Equal(t, clock.Never, other.timers.next())
}

// Bound goroutines share no fibers, so they have no timers in common with any worker.
func TestBoundGoroutineSharesNoTimers(t *testing.T) {
	for _, p := range Policies() {
		w, f := planted(t, p)
		bound := newWorker(w.scheduler, 2, singleThreaded)
		f.block(1, 0)
		require.EqualValues(t, 1, w.timers.next(), p)
		require.Equal(t, clock.Never, bound.timers.next())
	}
}

// Any worker ends the waits that are due, wherever their fibers have blocked, the earliest first.
func TestAnyWorkerExpiresWhatIsDue(t *testing.T) {
	for expirer := range 3 {
		w, f := plantedWith(t, Config{Workers: 3, Policy: RoundRobin})
		s := w.scheduler
		fibers := []*Fiber{f}
		for id := 1; id < 6; id++ {
			g := &Fiber{maker: w, id: int32(5 + id)}
			g.worker.Store(s.workers[id%3])
			g.word.Store(uint64(Running))
			fibers = append(fibers, g)
		}
		for i, f := range fibers {
			f.block(clock.Instant(100+i), 0)
			f.publish()
		}
		s.workers[expirer].timers.expire(104)
		require.EqualValues(t, 105, w.timers.next())
		require.Equal(t, 5, s.policy.pending(nil))
		var order []int
		for range 5 {
			r, _ := s.policy.next(w)
			require.True(t, r.fiber().resume())
			order = append(order, slices.Index(fibers, r.fiber()))
		}
		require.Equal(t, []int{0, 1, 2, 3, 4}, order)
		require.Equal(t, Waiting, fibers[5].State())
	}
}

// timersModel is what waits on some workers, as a list.
type timersModel struct {
	t       *testing.T
	random  *rand.Rand
	workers []*Worker
	idle    []*Fiber // Running
	waiting []*Fiber
}

// newTimersModel plants workers, and fibers that do not wait.
func newTimersModel(t *testing.T, seed uint64, workers, fibers int) *timersModel {
	w, _ := plantedWith(t, Config{Workers: workers, Policy: RoundRobin})
	m := &timersModel{t: t, random: rand.New(rand.NewPCG(seed, uint64(workers))), workers: w.scheduler.workers}
	for id := range fibers {
		f := &Fiber{maker: w, id: int32(id)}
		f.word.Store(uint64(Running))
		m.idle = append(m.idle, f)
	}
	return m
}

func (m *timersModel) worker() *Worker { return m.workers[m.random.IntN(len(m.workers))] }

// take removes a fiber by chance.
func (m *timersModel) take(list *[]*Fiber) *Fiber {
	i := m.random.IntN(len(*list))
	f := (*list)[i]
	*list = slices.Delete(*list, i, i+1)
	return f
}

// block has a fiber wait on a worker until deadline.
func (m *timersModel) block(deadline clock.Instant) {
	f := m.take(&m.idle)
	f.worker.Store(m.worker())
	f.block(deadline, 0)
	f.publish()
	m.waiting = append(m.waiting, f)
}

// goOn has a worker resume a fiber that is queued, and checks why it goes on.
func (m *timersModel) goOn(expired bool) *Fiber {
	w := m.worker()
	r, ok := w.scheduler.policy.next(w)
	require.True(m.t, ok, "no fiber has been queued")
	r.fiber().worker.Store(w)
	require.Equal(m.t, expired, r.fiber().resume(), "whether the deadline has ended the wait")
	m.idle = append(m.idle, r.fiber())
	return r.fiber()
}

// check compares what the workers see with the model.
func (m *timersModel) check() {
	next := clock.Never
	for _, f := range m.waiting {
		next = min(next, f.timer.deadline)
	}
	require.Equal(m.t, next, m.workers[0].timers.next(), "the earliest of %d deadlines", len(m.waiting))
	require.Zero(m.t, m.workers[0].scheduler.policy.pending(nil), "fibers that were queued twice")
}

// Fibers block with deadlines, are notified and expire, by chance and on any worker: the earliest deadline is always
// right, and each wait ends once, by what has ended it.
func TestGroupTimersAgainstList(t *testing.T) {
	for _, workers := range []int{1, 2, 4, 64} {
		t.Run(fmt.Sprintf("workers=%d", workers), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			m := newTimersModel(t, seed, workers, 50)
			now := clock.Instant(0)
			for range rounds(20_000) {
				switch m.random.IntN(4) {
				case 0, 1:
					if len(m.idle) > 0 {
						m.block(now + clock.Instant(m.random.IntN(100)))
					}
				case 2:
					if len(m.waiting) > 0 {
						f := m.take(&m.waiting)
						require.True(t, f.wake(0))
						require.Same(t, f, m.goOn(false))
					}
				case 3:
					now += clock.Instant(m.random.IntN(20))
					w := m.worker()
					w.timers.expire(now)
					for i := len(m.waiting) - 1; i >= 0; i-- {
						if m.waiting[i].timer.deadline <= now {
							m.goOn(true)
							m.waiting = slices.Delete(m.waiting, i, i+1)
						}
					}
				}
				m.check()
			}
		})
	}
}

// Several threads block fibers, notify them, expire what is due and let fibers go on, all at once. When they pause, the
// earliest deadline is the heap's, and each fiber waits, with a timer, or is queued.
func TestGroupTimersSettle(t *testing.T) {
	const threads, perRound, fibers = 4, 30, 12
	for _, workers := range []int{4, 64} {
		t.Run(fmt.Sprintf("workers=%d", workers), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			m := newTimersModel(t, seed, workers, fibers)
			all, p, g := slices.Clone(m.idle), m.workers[0].scheduler.policy, m.workers[0].timers
			now := clock.Instant(0)
			block := func(f *Fiber, w *Worker, r *rand.Rand) {
				f.worker.Store(w)
				f.block(now+clock.Instant(r.IntN(50)), 0)
				f.publish()
			}
			for _, f := range all {
				block(f, m.worker(), m.random)
			}
			for round := range rounds(3000) {
				var done sync.WaitGroup
				for i := range threads {
					done.Add(1)
					go func() {
						defer done.Done()
						r := rand.New(rand.NewPCG(seed, uint64(round)*threads+uint64(i)))
						for range perRound {
							w := m.workers[i+r.IntN(workers/threads)*threads]
							switch r.IntN(4) {
							case 0:
								w.timers.expire(now + clock.Instant(r.IntN(20)))
							case 1:
								all[r.IntN(fibers)].wake(0)
							default:
								if next, ok := p.next(w); ok {
									next.fiber().worker.Store(w)
									next.fiber().resume()
									block(next.fiber(), w, r)
								}
							}
						}
					}()
				}
				done.Wait()
				require.Equal(t, g.heap.next(), g.next(), "round %d", round)
				waiting := 0
				for _, f := range all {
					if f.State() == Waiting {
						require.Positive(t, f.timer.position, "round %d: a fiber that waits has no timer", round)
						waiting++
					}
				}
				require.Equal(t, fibers-waiting, p.pending(nil), "round %d: fibers that are queued", round)
				now += 10
			}
		})
	}
}

// A deadline ends the wait of a fiber even if all workers of its group compute: a worker of another one sees to it.
func TestDeadlineOfABusyGroup(t *testing.T) {
	s, err := New(Config{Workers: 2, Policy: Group, Groups: Groups{Size: 1}})
	require.NoError(t, err)
	var computes, slept atomic.Bool
	await := func(flag *atomic.Bool) {
		for began := time.Now(); !flag.Load() && time.Since(began) < 10*time.Second; {
			runtime.Gosched()
		}
	}
	thief, saw := make(chan struct{}), false
	require.NoError(t, s.EnqueueInGroup(0, Task{Flags: GroupLocal, Func: func() {
		close(thief)
		await(&computes) // until then it steals nothing
	}}))
	<-thief
	require.NoError(t, s.EnqueueInGroup(1, Task{Func: func() {
		assert.NoError(t, s.EnqueueInGroup(1, Task{Flags: GroupLocal, Func: func() {
			computes.Store(true)
			await(&slept)
			saw = slept.Load()
		}}))
		Sleep(20 * time.Millisecond)
		slept.Store(true)
	}}))
	require.NoError(t, s.Close())
	require.True(t, saw, "the fiber waited until its group had a worker again")
}
