package sched_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/trace"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// exercise makes the scheduler's fibers go through all five states.
func exercise(t *testing.T, s *sched.Scheduler) {
	const n = 20
	over := schedtest.NewLatch(3 * n)
	for i := range n {
		p := schedtest.NewSleeper()
		schedtest.Schedule(t, s, func() {
			p.Task()
			over.Done()
		})
		schedtest.Schedule(t, s, func() {
			schedtest.ScheduleHere(t, s, func() {}) // a task that goes first
			sched.Yield()
			p.Wake()
			over.Done()
		})
		schedtest.Schedule(t, s, func() {
			sched.Sleep(time.Duration(i) * 20 * time.Microsecond)
			over.Done()
		})
	}
	over.Wait()
}

// Every transition that is recorded is a legal one, and continues the one before it.
func TestRecorderIsConsistent(t *testing.T) {
	suite.EachConfig(t, suite.AnyWorkers, func(t *testing.T, cfg sched.Config) {
		r := trace.NewRecorder(1 << 16)
		cfg.Recorder = r
		suite.OnScheduler(t, cfg, exercise)
		events := r.Events(sched.KindTransition)
		counts := r.Transitions()
		assert.EqualValues(t, len(events), counts.Total())

		type name struct{ maker, fiber int }
		at := make(map[name]sched.State)
		var counted trace.Transitions
		var seen [5]bool
		var last time.Duration
		for _, e := range events {
			assert.True(t, isLegal(e.From, e.To, e.Why), "%+v", e)
			assert.GreaterOrEqual(t, e.At, last)
			last = e.At
			n := name{e.Maker, e.Fiber}
			was, known := at[n]
			if !known {
				was = sched.Idle
				if e.Fiber == 0 {
					was = sched.Running
				}
			}
			assert.Equal(t, was, e.From, "%+v", e)
			at[n] = e.To
			seen[e.From], seen[e.To] = true, true
			counted[e.From][e.To]++
		}
		assert.Equal(t, counts, counted)
		assert.Equal(t, [5]bool{true, true, true, true, true}, seen, "a state that never occurs")
		for n, state := range at {
			want := sched.Idle
			if n.fiber == 0 {
				want = sched.Running
			}
			assert.Equal(t, want, state, "%+v has not ended as it should", n)
		}

		in := func(to sched.State) (sum uint64) {
			for from := sched.Idle; from <= sched.Running; from++ {
				sum += counts.Of(from, to)
			}
			return sum
		}
		assert.Equal(t, in(sched.Queued), counts.Of(sched.Queued, sched.Running), "each that is queued runs")
		assert.Equal(t, in(sched.Yielded), counts.Of(sched.Yielded, sched.Queued), "each that waits is queued")
		assert.Equal(t, in(sched.Waiting), counts.Of(sched.Waiting, sched.Queued), "each that waits is queued")
		assert.GreaterOrEqual(t, counts.Of(sched.Running, sched.Queued), uint64(20), "yields")
	})
}

// A fiber that yields while no other is ready goes on as it was.
func TestRecorderYieldWithoutOthers(t *testing.T) {
	suite.EachConfig(t, suite.OneThread, func(t *testing.T, cfg sched.Config) {
		r := trace.NewRecorder(0)
		cfg.Recorder = r
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			schedtest.Perform(t, s, func() {
				before := r.Transitions()
				for range 10 {
					sched.Yield()
				}
				assert.Equal(t, before, r.Transitions())
			})
		})
	})
}

// A recorder keeps the latest events of each worker, and counts all transitions.
func TestRecorderIsBounded(t *testing.T) {
	suite.EachConfig(t, suite.AnyWorkers, func(t *testing.T, cfg sched.Config) {
		for _, capacity := range []int{-1, 0, 1, 7} {
			r := trace.NewRecorder(capacity)
			cfg.Recorder = r
			suite.OnScheduler(t, cfg, exercise)
			events, counts := r.Events(), r.Transitions()
			assert.Greater(t, counts.Total(), uint64(60))
			perWorker := make(map[int]int)
			for _, e := range events {
				if e.Kind > sched.KindMark {
					perWorker[e.Worker]++
				} else {
					perWorker[e.Maker]++
				}
				assert.True(t, e.Kind != sched.KindTransition || isLegal(e.From, e.To, e.Why), "%+v", e)
			}
			for _, n := range perWorker {
				assert.LessOrEqual(t, n, max(capacity, 0))
			}
			if capacity > 0 {
				assert.NotEmpty(t, events)
			}
		}
	})
}

// A recorder may be read while the scheduler runs.
func TestRecorderReadWhileRunning(t *testing.T) {
	suite.EachConfig(t, []int{0, 4}, func(t *testing.T, cfg sched.Config) {
		r := trace.NewRecorder(100)
		cfg.Recorder = r
		stop, over := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(over)
			var before uint64
			for {
				select {
				case <-stop:
					return
				default:
				}
				counts := r.Transitions()
				assert.GreaterOrEqual(t, counts.Total(), before)
				before = counts.Total()
				r.Events()
			}
		}()
		suite.OnScheduler(t, cfg, exercise)
		close(stop)
		<-over
	})
}
