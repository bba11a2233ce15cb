package sched_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/trace"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// stress is a crowd of tasks that block on one another. Each part of it ends by its own protocol, once over is set, and
// no fiber is woken for the end that would not have been woken otherwise. So a wake-up that is lost once stops the
// scheduler for good.
type stress struct {
	t        *testing.T
	s        *sched.Scheduler
	over     atomic.Bool
	progress atomic.Uint64
	open     atomic.Int64 // tasks that have not ended
	parts    sync.WaitGroup
	sent     atomic.Uint64
	received atomic.Uint64
}

// start schedules a task that the stress test waits for.
func (x *stress) start(task func()) {
	x.parts.Add(1)
	x.open.Add(1)
	err := x.s.Enqueue(sched.Task{Func: func() {
		task()
		x.open.Add(-1)
		x.parts.Done()
	}})
	if !assert.NoError(x.t, err) {
		x.open.Add(-1)
		x.parts.Done()
	}
}

// stop is an item that ends its receiver.
const stop = 0

// flow is producers and consumers at one pipe. The last producer ends the consumers.
func (x *stress) flow(producers, consumers, limit int) {
	p := &pipe{limit: limit}
	var left atomic.Int64
	left.Store(int64(producers))
	for n := range producers {
		x.start(func() {
			for i := uint64(1); !x.over.Load(); i++ {
				v := i<<8 | uint64(n)
				x.sent.Add(v)
				p.put(v)
				if i%64 == 0 {
					sched.Sleep(time.Duration(i%500) * time.Microsecond)
				}
			}
			if left.Add(-1) == 0 {
				for range consumers {
					p.put(stop)
				}
			}
		})
	}
	for range consumers {
		x.start(func() {
			for v := p.get(); v != stop; v = p.get() {
				x.received.Add(v)
				x.progress.Add(1)
			}
		})
	}
}

// circle hands a token round, now and then by way of a goroutine.
func (x *stress) circle(members int) {
	pipes := make([]*pipe, members)
	for i := range pipes {
		pipes[i] = &pipe{limit: 1}
	}
	for i, from := range pipes {
		to := pipes[(i+1)%members]
		x.start(func() {
			for {
				v := from.get()
				x.progress.Add(1)
				if v == stop || i == 0 && x.over.Load() {
					if i < members-1 {
						to.put(stop)
					}
					return
				}
				if v%17 == 0 {
					go func() {
						to.mu.Lock()
						defer to.mu.Unlock()
						to.add(v + 1)
					}()
				} else {
					to.put(v + 1)
				}
			}
		})
	}
	x.start(func() { pipes[0].put(1) })
}

// race notifies a fiber at about the moment when its deadline comes, from a goroutine or
// from a task that may be on any worker.
func (x *stress) race(d time.Duration) {
	x.start(func() {
		for i := 0; !x.over.Load(); i++ {
			f := sched.Current()
			var mu sync.Mutex
			done := false
			finish := func() {
				mu.Lock()
				defer mu.Unlock()
				done = true
				f.Notify()
			}
			if i%2 == 0 {
				go func() { time.Sleep(d); finish() }()
			} else {
				x.start(func() { sched.Sleep(d); finish() })
			}
			began := time.Now()
			mu.Lock()
			if !f.WaitFor(&mu, d, func() bool { return done }) {
				assert.GreaterOrEqual(x.t, time.Since(began), d, "WaitFor gave up early")
				f.Wait(&mu, func() bool { return done })
			}
			mu.Unlock()
			x.progress.Add(1)
		}
	})
}

// storm schedules trees of tasks, and begins the next when all tasks of one have ended.
func (x *stress) storm(width, depth int) {
	x.start(func() {
		for !x.over.Load() {
			f := sched.Current()
			var mu sync.Mutex
			left := 1
			var grow func(depth int)
			grow = func(depth int) {
				if depth > 0 {
					mu.Lock()
					left += width
					mu.Unlock()
					for range width {
						x.start(func() { grow(depth - 1) })
					}
				}
				mu.Lock()
				defer mu.Unlock()
				if left--; left == 0 {
					f.Notify()
				}
			}
			grow(depth)
			mu.Lock()
			f.Wait(&mu, func() bool { return left == 0 })
			mu.Unlock()
			x.progress.Add(1)
			sched.Yield()
		}
	})
}

func (x *stress) String() string {
	return fmt.Sprintf("over: %v, tasks that have not ended: %d", x.over.Load(), x.open.Load())
}

// awaitTransitions waits until each transition of the picture has occurred, and returns the transitions that do not. On
// a slow machine tasks may take longer to begin than the stress lasts.
func awaitTransitions(rec *trace.Recorder) (missing [][2]sched.State) {
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		count := rec.Transitions()
		missing = missing[:0]
		for states := range legal {
			if count.Of(states[0], states[1]) == 0 {
				missing = append(missing, states)
			}
		}
		if len(missing) == 0 || time.Since(began) > schedtest.Standstill {
			return missing
		}
	}
}

func TestStress(t *testing.T) {
	suite.EachConfig(t, []int{4}, func(t *testing.T, cfg sched.Config) {
		rec := trace.NewRecorder(10_000)
		cfg.MaxIdle, cfg.GiveUpAfter, cfg.Recorder = 20, -1, rec
		s, err := sched.New(cfg)
		require.NoError(t, err)
		x := &stress{t: t, s: s}
		suite.KeepCollecting(t)
		var missing [][2]sched.State
		schedtest.Watch(
			t, schedtest.Watched{Scheduler: s, Recorder: rec, Progress: &x.progress, State: x.String},
			func() {
				x.flow(1, 1, 1)
				x.flow(10, 3, 4)
				x.flow(3, 30, 2)
				x.circle(2)
				x.circle(5)
				x.circle(100)
				for i := range 20 {
					x.race(time.Duration(i*i) * 20 * time.Microsecond)
				}
				x.storm(2, 6)
				x.storm(30, 1)
				time.Sleep(suite.StressTime(t, 6*time.Second, time.Second))
				missing = awaitTransitions(rec)
				x.over.Store(true)
				x.parts.Wait()
			},
		)
		assert.NoError(t, s.Close())
		assert.Equal(t, x.sent.Load(), x.received.Load(), "sum of what was sent, and of what was received")
		assert.Zero(t, x.open.Load())
		assert.Empty(t, missing, "transitions that have never occurred")
		count := rec.Transitions()
		for from := range sched.Running + 1 {
			for to := range sched.Running + 1 {
				_, possible := legal[[2]sched.State{from, to}]
				assert.True(t, possible || count.Of(from, to) == 0, "%v -> %v", from, to)
			}
		}
		t.Logf("%d steps, %+v", x.progress.Load(), s.Stats())
	})
}
