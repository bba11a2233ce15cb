package sched_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/park"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// rover is one of many fibers that wait in all ways, each of which may take it to another worker.
type rover struct {
	fiber *sched.Fiber
	mu    sync.Mutex
	asked int // how often it has asked to be woken
	woken int // how often it has been
}

// wake is what a goroutine does for a rover that has asked.
func (r *rover) wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.woken++
	r.fiber.Notify()
}

// Many fibers wait, with and without deadlines, park and yield, while goroutines wake them, with cause and without. At
// the same time deadlock checks enter them, the collector runs, and the number of processors changes. After each wait a
// fiber is still itself, on a worker that knows it.
func TestStressMigration(t *testing.T) {
	suite.Over{Workers: []int{1, 2, 4}}.Run(t, func(t *testing.T, cfg sched.Config) {
		suite.KeepCollecting(t)
		var checks atomic.Int64
		cfg.Watchdog = 2 * time.Millisecond
		cfg.Deadlocked = func(*sched.Deadlock) { checks.Add(1) }
		cfg.MaxIdle = 8
		random := suite.NewRand(t)
		rovers := make([]rover, suite.Scaled(300, 40))
		rounds := suite.Scaled(200, 40)
		seeds := make([]uint64, len(rovers))
		for i := range seeds {
			seeds[i] = random.Uint64()
		}
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			var progress atomic.Uint64
			state := func() string { return fmt.Sprint(progress.Load()) }
			asks := make(chan func(), len(rovers))
			var helpers sync.WaitGroup
			for range 3 {
				helpers.Add(1)
				go func() {
					defer helpers.Done()
					for wake := range asks {
						wake()
					}
				}()
			}
			over := make(chan struct{})
			helpers.Add(1)
			go func() {
				defer helpers.Done()
				before := runtime.GOMAXPROCS(0)
				defer runtime.GOMAXPROCS(before)
				for n := 1; ; n++ {
					select {
					case <-over:
						return
					case <-time.After(5 * time.Millisecond):
						runtime.GOMAXPROCS(1 + n%(before+1))
					}
				}
			}()
			meeting := meeting{rovers: rovers, pause: 3 * cfg.Watchdog, checks: &checks}
			ended := schedtest.NewLatch(len(rovers))
			begun := schedtest.NewLatch(len(rovers))
			for i := range rovers {
				schedtest.Schedule(t, s, func() {
					defer ended.Done()
					r, turn := &rovers[i], rand.New(rand.NewPCG(seeds[i], 0))
					r.fiber = sched.Current()
					begun.Done()
					begun.Wait()
					for round := range rounds {
						if round%(rounds/4) == 0 {
							meeting.attend(r, asks)
						}
						r.step(s, rovers, turn, asks)
						progress.Add(1)
						f := sched.Current()
						if f != r.fiber || f.State() != sched.Running || f.Worker() == nil {
							t.Errorf("rover %d is %v, which is %v; it was %v", i, f, f.State(), r.fiber)
							return
						}
					}
				})
			}
			schedtest.Watch(t, schedtest.Watched{Scheduler: s, Progress: &progress, State: state}, ended.Wait)
			close(asks)
			close(over)
			helpers.Wait()
			assert.EqualValues(t, len(rovers)*rounds, progress.Load())
		})
		t.Logf("%d steps, %d deadlocks reported on the way", len(rovers)*rounds, checks.Load())
	})
}

// meeting blocks all rovers, until a goroutine has seen to it that they are reported as deadlocked.
type meeting struct {
	rovers []rover
	pause  time.Duration
	checks *atomic.Int64 // deadlocks reported
	mu     sync.Mutex
	here   int
	turn   int // how often all have met
}

func (m *meeting) attend(r *rover, asks chan<- func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	turn := m.turn
	if m.here++; m.here == len(m.rovers) {
		m.here = 0
		before := m.checks.Load() // r still runs: this meeting cannot have been reported
		asks <- func() { m.end(before) }
	}
	r.fiber.Wait(&m.mu, func() bool { return m.turn > turn })
}

// end waits until more deadlocks have been reported than before the meeting. Then it notifies some rovers while a
// deadlock check may enter them, and lets all go on.
func (m *meeting) end(before int64) {
	for m.checks.Load() == before {
		time.Sleep(m.pause)
	}
	for i := range m.rovers {
		m.rovers[i].fiber.Notify()
		if i%8 == 0 {
			time.Sleep(m.pause / 8)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turn++
	for i := range m.rovers {
		m.rovers[i].fiber.Notify()
	}
}

// step does one thing by chance.
func (r *rover) step(s *sched.Scheduler, rovers []rover, turn *rand.Rand, asks chan<- func()) {
	switch turn.IntN(7) {
	case 0:
		sched.Yield()
	case 1:
		r.fiber.WaitFor(nil, time.Duration(turn.IntN(300))*time.Microsecond, nil)
	case 2: // a goroutine notifies it
		r.mu.Lock()
		r.asked++
		asks <- r.wake
		r.fiber.Wait(&r.mu, func() bool { return r.woken == r.asked })
		r.mu.Unlock()
	case 3: // a goroutine unparks it
		var done atomic.Bool
		p := park.Current()
		asks <- func() {
			done.Store(true)
			p.Unpark()
		}
		for !done.Load() {
			p.Park(time.Time{})
		}
	case 4: // and another fiber, with a deadline far ahead
		r.mu.Lock()
		r.asked++
		if s.Go(r.wake) == nil {
			r.fiber.WaitFor(&r.mu, time.Hour, func() bool { return r.woken == r.asked })
		}
		r.mu.Unlock()
	case 5: // without cause
		rovers[turn.IntN(len(rovers))].fiber.Notify()
	case 6: // in a short wait for another fiber that it ends itself
		var p sync.Mutex
		up := false
		f := r.fiber
		_ = sched.Schedule(func() {
			p.Lock()
			defer p.Unlock()
			up = true
			f.Notify()
		}, sched.SameThread)
		p.Lock()
		for !f.WaitFor(&p, time.Duration(turn.IntN(200))*time.Microsecond, func() bool { return up }) {
		}
		p.Unlock()
	}
}
