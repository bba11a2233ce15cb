package forkjoin

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/internal/clock"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

// eachBarrier runs test with the kernel's barrier, if it has one, and then with fences in the strands.
func eachBarrier(t *testing.T, test func(t *testing.T)) {
	has := hasBarrier
	defer func() { hasBarrier = has }()
	if has() {
		t.Run("barrier", test)
	}
	hasBarrier = func() bool { return false }
	t.Run("fences", test)
}

// inTask calls f, which must not call FailNow, in a task of a new pool of that form with so many workers.
func inTask(t *testing.T, workers int, form Form, f func(p *Pool)) {
	s, err := sched.New(sched.Config{Workers: workers})
	require.NoError(t, err)
	p, err := New(s, Config{Form: form})
	require.NoError(t, err)
	require.NoError(t, fibersync.On(s, func() {
		_, err := Submit(p, func(p *Pool) (int, error) { f(p); return 0, nil }).Get()
		assert.NoError(t, err)
	}))
	require.NoError(t, p.Close())
	require.NoError(t, s.Close())
	require.NoError(t, fiber.Drain())
}

// steal steals from each strand at work, all the time, until stop is called, and runs what it has stolen; stolen
// counts that.
func steal(p *Pool, thieves int, stolen *atomic.Int64) (stop func()) {
	var over atomic.Bool
	var ended sync.WaitGroup
	for range thieves {
		ended.Add(1)
		go func() {
			defer ended.Done()
			p.of.running.Add(1)
			own := p.of.newStrand()
			defer own.leave()
			for !over.Load() {
				var j *job
				p.of.atWork.others(own, rand.Uint(), func(s *strand) bool {
					j = s.take(new(watch))
					return j != nil
				})
				if j != nil {
					stolen.Add(1)
					own.begin(j, &p.of.stolen)
				}
				runtime.Gosched()
			}
		}()
	}
	return func() {
		over.Store(true)
		ended.Wait()
	}
}

// Thieves that never rest take forks from strands that join them: each fork runs once, and the strand gets what it
// has returned.
func TestEachForkRunsOnce(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	eachBarrier(t, func(t *testing.T) {
		inTask(t, 2, Heartbeat, func(p *Pool) {
			var stolen atomic.Int64
			defer steal(p, 2, &stolen)()
			const deep = 5
			var ran [1 << deep]atomic.Int32
			check := func(how string) {
				for i := range ran[1:] {
					assert.EqualValues(t, 1, ran[i+1].Swap(0), "%s: times that fork %d has run", how, i+1)
				}
			}
			visit := func(n int) {
				ran[n].Add(1)
				if rand.IntN(8) == 0 {
					runtime.Gosched()
				}
			}
			// n is the number of a node, whose children are 2n and 2n+1
			typed := NewFunc(func(s *Strand[int, int], n int) int {
				if n >= 1<<deep {
					return 0
				}
				visit(n)
				a, b := s.Fork(2*n), s.Fork(2*n+1)
				if n%3 == 0 { // the other order
					return n + s.Join(a) + s.Join(b)
				}
				return n + s.Join(b) + s.Join(a)
			})
			var join func(p *Pool, n int) int
			join = func(p *Pool, n int) int {
				if n >= 1<<deep {
					return 0
				}
				visit(n)
				a, b := Join(p, func(p *Pool) int { return join(p, 2*n) }, func(p *Pool) int { return join(p, 2*n+1) })
				return n + a + b
			}
			const sum = (1 << deep) * (1<<deep - 1) / 2
			for i := 0; i < rounds || stolen.Load() < int64(rounds); i++ {
				assert.Equal(t, sum, typed.Call(p, 1))
				check("Func")
				assert.Equal(t, sum, join(p, 1))
				check("Join")
			}
		})
	})
}

// A function that always keeps some forks open keeps no memory for those that it has joined, in whatever order.
func TestSomeForksAreAlwaysOpen(t *testing.T) {
	const forks, most = 20_000, 128
	for _, form := range Forms() {
		t.Run(form.String(), func(t *testing.T) {
			inTask(t, 1, form, func(p *Pool) {
				f := NewFunc(func(s *Strand[int, int], n int) (sum int) {
					if n >= 0 {
						return n
					}
					var open []Ticket
					for i := range forks {
						if open = append(open, s.Fork(i)); len(open) > -n {
							at := rand.IntN(-n)
							sum += s.Join(open[at])
							open = slices.Delete(open, at, at+1)
						}
					}
					assert.LessOrEqual(t, len(s.slots), most, "slots for forks")
					if a := s.strand.own.array.Load(); a != nil {
						assert.LessOrEqual(t, len(a.slots), most, "slots of the deque")
					}
					for _, ticket := range open {
						sum += s.Join(ticket)
					}
					return sum
				})
				check := func() {
					for _, open := range []int{1, 40} {
						assert.Equal(t, forks*(forks-1)/2, f.Call(p, -open), "the sum of all forks")
					}
				}
				check()
				if form == Heartbeat {
					defer steal(p, 1, new(atomic.Int64))()
					check()
				}
			})
		})
	}
}

// A fork that is made just when the last drainer ends is not left behind.
func TestNoForkIsLeftBehind(t *testing.T) {
	rounds := 2000
	if testing.Short() {
		rounds = 200
	}
	eachBarrier(t, func(t *testing.T) {
		inTask(t, 2, Heartbeat, func(p *Pool) {
			for i := range rounds {
				for range rand.IntN(2000) * (i % 2) { // a drainer that has nothing to do ends in that time
					p.of.idle()
				}
				var taken atomic.Bool
				Join(p, func(*Pool) int {
					for !taken.Load() {
						runtime.Gosched()
					}
					return 0
				}, func(*Pool) int { taken.Store(true); return 0 })
			}
		})
	})
}

// A drainer that can wait takes a fork that was there a beat ago, and no fork that has been made since.
func TestDrainerWaitsForABeat(t *testing.T) {
	s := new(strand)
	f := &s.forks
	f.strand = s
	s.lists = []list{f}
	fork := func() { f.push(int(f.top.Load()), waiting[int](func(*Pool) int { return 0 })) }
	w := &watch{patient: true, beat: clock.Instant(time.Hour)}
	look := func(long bool) bool {
		w.begin(long)
		j := s.take(w)
		w.end()
		return j != nil
	}
	require.False(t, look(false), "there is no fork")
	fork()
	require.False(t, look(false), "noticed")
	w.since -= w.beat
	require.True(t, look(false), "it has been there for a beat")
	fork()
	require.False(t, look(false), "it is newer than what was noticed")
	w.since -= w.beat
	f.pop(1)
	fork()
	require.False(t, look(false), "another one in its place")
	require.True(t, look(true), "forks are long")
	fork()
	w.patient = false
	require.True(t, look(false), "the drainer will not look again")
	require.False(t, look(false), "none is left")
}

// A drainer that takes any fork, and finds none, forgets the list that it has noticed. Otherwise it would go on looking
// for as long as another strand computes.
func TestDrainerForgetsWhatHasGone(t *testing.T) {
	for _, long := range []bool{false, true} {
		s := new(strand)
		s.forks.strand = s
		s.lists = []list{&s.forks}
		s.forks.push(0, waiting[int](func(*Pool) int { return 0 }))
		w := &watch{patient: true, beat: clock.Instant(time.Hour)}
		look := func(long bool) {
			w.begin(long)
			require.Nil(t, s.take(w))
			w.end()
		}
		look(false)
		require.NotNil(t, w.list)
		s.forks.pop(0)
		look(long)
		require.Nil(t, w.list, "long: %t", long)
	}
}
