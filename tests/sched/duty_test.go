package sched_test

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/tests/internal/child"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// duties counts, for each worker, how often it has been out of duty since a fiber last began or went on there.
type duties []atomic.Int64

// newDuties has cfg count them.
func newDuties(cfg *sched.Config) duties {
	d := make(duties, cfg.Workers+1)
	cfg.OutOfDuty = func(worker int) { d[worker].Add(1) }
	return d
}

// take is what a fiber calls that has just begun or gone on. It returns how often its worker has been out of duty since
// the last one did.
func (d duties) take() int64 { return d[sched.Current().Worker().ID()].Swap(0) }

// A worker is out of duty once between two fibers, whatever has ended the one and made the other ready. A task that
// yields when there is nothing else to run may have it be out of duty once more.
func TestOutOfDutyBetweenTwoFibers(t *testing.T) {
	suite.EachConfig(t, suite.AnyWorkers, func(t *testing.T, cfg sched.Config) {
		d := newDuties(&cfg)
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			const tasks, rounds = 20, 10
			for _, most := range []int64{1, 2} {
				over := schedtest.NewLatch(tasks)
				check := func(when string) {
					n := d.take()
					assert.Positive(t, n, when)
					assert.LessOrEqual(t, n, most, when)
				}
				for range tasks {
					schedtest.Schedule(t, s, func() {
						defer over.Done()
						check("before a task begins")
						for range rounds {
							sched.Current().WaitFor(nil, 10*time.Microsecond, nil)
							check("in a wait")
							if most > 1 {
								sched.Yield()
								check("in a yield")
							}
						}
					})
				}
				over.Wait()
			}
		})
	})
}

// The function runs on the worker's thread, on no fiber, and must not wait: what would wait there panics instead.
func TestOutOfDutyIsOnNoFiber(t *testing.T) {
	suite.EachConfig(t, suite.SomeWorkers, func(t *testing.T, cfg sched.Config) {
		tids := make([]atomic.Int64, cfg.Workers)
		cfg.Initializer = func(worker int) { tids[worker].Store(int64(tid())) }
		var some atomic.Pointer[sched.Fiber]
		panics := func(f func()) (value any) {
			defer func() { value = recover() }()
			f()
			return nil
		}
		var calls atomic.Int64
		cfg.OutOfDuty = func(worker int) {
			if suite.HasThreads(cfg) && tids[worker].Load() != int64(tid()) {
				t.Errorf(
					"worker %d is out of duty on thread %d, not on its thread %d", worker, tid(), tids[worker].Load(),
				)
			}
			if sched.Current() != nil {
				t.Error("it runs on a fiber")
			}
			for name, f := range map[string]func(){
				"Yield": sched.Yield,
				"Sleep": func() { sched.Sleep(1) },
				"Wait":  func() { some.Load().WaitFor(nil, 1, nil) },
			} {
				if panics(f) == nil {
					t.Errorf("%s does not panic", name)
				}
			}
			calls.Add(1)
		}
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			const tasks = 10
			over := schedtest.NewLatch(tasks)
			for range tasks {
				schedtest.Schedule(t, s, func() {
					defer over.Done()
					for range 10 {
						some.Store(sched.Current())
						sched.Current().WaitFor(nil, 10*time.Microsecond, nil)
						sched.Yield()
					}
				})
			}
			over.Wait()
			assert.Positive(t, calls.Load())
		})
	})
}

// What the function makes ready or enqueues runs: here it is all that wakes the task, even while another one yields in
// vain.
func TestOutOfDutyBringsWork(t *testing.T) {
	suite.EachConfig(t, suite.AnyWorkers, func(t *testing.T, cfg sched.Config) {
		var sleeper atomic.Pointer[sched.Fiber]
		var enqueued, ran atomic.Int64
		var s *sched.Scheduler
		cfg.OutOfDuty = func(int) {
			if f := sleeper.Load(); f != nil {
				f.Notify()
				if s.TryEnqueue(sched.Task{Func: func() { ran.Add(1) }, Name: "from out of duty"}) == nil {
					enqueued.Add(1)
				}
			}
		}
		suite.OnScheduler(t, cfg, func(t *testing.T, made *sched.Scheduler) {
			s = made
			var woken atomic.Bool
			over := schedtest.NewLatch(2)
			schedtest.Schedule(t, s, func() {
				defer over.Done()
				f := sched.Current()
				sleeper.Store(f)
				f.Wait(nil, nil)
				sleeper.Store(nil)
				woken.Store(true)
			})
			schedtest.Schedule(t, s, func() {
				defer over.Done()
				for end := time.Now().Add(schedtest.Standstill); !woken.Load(); sched.Yield() {
					if time.Now().After(end) {
						t.Error("the fiber that was notified out of duty does not go on")
						return
					}
				}
			})
			over.Wait()
			schedtest.Perform(t, s, func() {
				for end := time.Now().Add(schedtest.Standstill); ran.Load() != enqueued.Load(); sched.Yield() {
					if time.Now().After(end) {
						t.Errorf("%d of %d tasks have run", ran.Load(), enqueued.Load())
						return
					}
				}
			})
		})
	})
}

// A panic there is no task's: it ends the program whatever Config.Panicked says.
var childOutOfDutyPanics = child.New("out of duty panics", func(t child.T, b fiber.Backend) {
	cfg := child.Config(t, b)
	var begun atomic.Bool
	cfg.Panicked = func(any, []byte) { fmt.Println("it reached Config.Panicked"); os.Exit(0) }
	cfg.OutOfDuty = func(int) {
		if begun.Load() {
			panic("deliberate")
		}
	}
	s, err := sched.New(cfg)
	require.NoError(t, err)
	require.NoError(t, s.Go(func() {
		begun.Store(true)
		sched.Sleep(time.Microsecond)
	}))
	_ = s.Close()
})

func TestOutOfDutyPanics(t *testing.T) {
	over := suite.Over{Workers: []int{1}}
	for _, cfg := range over.Configs(t.Name()) {
		t.Run(suite.Name(cfg), func(t *testing.T) {
			out := child.RunCrash(t, childOutOfDutyPanics, cfg.Backend, child.Env(cfg))
			require.Contains(t, out, "Config.OutOfDuty on scheduler worker 0: deliberate")
			require.NotContains(t, out, "reached")
			require.True(t, strings.Contains(out, "duty_test.go"), out)
		})
	}
}

// A task finds the engine of the worker that runs it now, after each wait anew.
func TestWorkerEngine(t *testing.T) {
	suite.EachConfig(t, suite.SomeWorkers, func(t *testing.T, cfg sched.Config) {
		type engine struct{ worker int }
		cfg.Initializer = func(worker int) {
			w := sched.Current().Worker()
			assert.Nil(t, w.Engine())
			w.SetEngine(&engine{worker})
		}
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			const tasks = 20
			over := schedtest.NewLatch(tasks)
			for range tasks {
				schedtest.Schedule(t, s, func() {
					defer over.Done()
					for range 10 {
						w := sched.Current().Worker()
						assert.Equal(t, &engine{w.ID()}, w.Engine())
						sched.Sleep(10 * time.Microsecond)
					}
				})
			}
			over.Wait()
			schedtest.Perform(t, s, func() {
				w := sched.Current().Worker()
				w.SetEngine(nil)
				assert.Nil(t, w.Engine())
			})
		})
	})
	assert.Nil(t, sched.Current().Worker().Engine(), "of no worker")
}
