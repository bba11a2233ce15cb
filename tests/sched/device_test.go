package sched_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
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

// tray is a device whose operations are over when the test says so. It wakes for nothing else: a wake-up that the
// scheduler forgets leaves its worker asleep.
type tray struct {
	worker *sched.Worker
	news   chan struct{} // a wake-up, or something to collect; it has room for one

	mu    sync.Mutex
	over  []*operation // to be collected
	count atomic.Int64 // len(over)

	pending         atomic.Int64
	waiting, closed atomic.Bool
	polls           atomic.Int64
}

// operation is what one fiber waits for.
type operation struct {
	fiber *sched.Fiber
	mu    sync.Mutex
	over  bool
}

func (d *tray) Ready() bool { return d.count.Load() > 0 }

func (d *tray) Poll() {
	d.polls.Add(1)
	d.collect()
}

func (d *tray) collect() {
	d.mu.Lock()
	over := d.over
	d.over = nil
	d.count.Store(0)
	d.mu.Unlock()
	for _, o := range over {
		d.pending.Add(-1)
		o.mu.Lock()
		o.over = true
		o.mu.Unlock()
		o.fiber.Notify()
	}
}

func (d *tray) Wait(limit time.Duration, _ bool) {
	var passed <-chan time.Time
	if limit >= 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		passed = timer.C
	}
	d.waiting.Store(true)
	defer d.waiting.Store(false)
	if d.Ready() {
		d.collect()
		return
	}
	select {
	case <-d.news:
	case <-passed:
	}
	d.collect()
}

func (d *tray) Wake() {
	select {
	case d.news <- struct{}{}:
	default:
	}
}

func (d *tray) Pending() int { return int(d.pending.Load()) }

func (d *tray) Close() error {
	d.closed.Store(true)
	return nil
}

// begin is for a fiber: it begins an operation that complete ends.
func (d *tray) begin() *operation {
	d.pending.Add(1)
	return &operation{fiber: sched.Current()}
}

// await blocks the fiber that has begun it until it is over.
func (o *operation) await() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fiber.Wait(&o.mu, func() bool { return o.over })
}

// complete ends an operation, as a kernel does, on any thread.
func (d *tray) complete(o *operation) {
	d.mu.Lock()
	d.over = append(d.over, o)
	d.count.Add(1)
	d.mu.Unlock()
	d.Wake()
}

// trays are the devices of a scheduler's workers.
type trays []*tray

// newTrays gives the workers of cfg trays.
func newTrays(cfg *sched.Config) trays {
	all := make(trays, cfg.Workers)
	for i := range all {
		all[i] = &tray{news: make(chan struct{}, 1)}
	}
	cfg.Device = func(w *sched.Worker) (sched.Device, error) {
		d := all[w.ID()]
		d.worker = w
		return d, nil
	}
	return all
}

// here is the device of the calling fiber's worker.
func (all trays) here() *tray { return all[sched.Current().Worker().ID()] }

// awaitSleep waits until all workers sleep in their devices.
func (all trays) awaitSleep(t *testing.T) {
	t.Helper()
	end := time.Now().Add(schedtest.Standstill)
	for _, d := range all {
		for !d.waiting.Load() {
			require.True(t, time.Now().Before(end), "worker %d does not sleep in its device", d.worker.ID())
			time.Sleep(20 * time.Microsecond)
		}
	}
}

// eachWithTrays runs test on schedulers of each kind whose workers have trays, and closes them.
func eachWithTrays(t *testing.T, workers []int, test func(t *testing.T, s *sched.Scheduler, all trays)) {
	over := suite.Over{Workers: workers, Only: suite.HasThreads}
	over.Run(t, func(t *testing.T, cfg sched.Config) {
		all := newTrays(&cfg)
		cfg.GiveUpAfter = 20 * time.Millisecond
		s, err := sched.New(cfg)
		require.NoError(t, err)
		test(t, s, all)
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			assert.NoError(t, s.Close())
		}()
		comesInTime(t, closed, "Close")
		for i, d := range all {
			assert.True(t, d.closed.Load(), "the device of worker %d is not closed", i)
		}
	})
}

// comesInTime fails if c is not closed.
func comesInTime(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(schedtest.Standstill):
		require.Fail(t, "the worker sleeps in its device", "%s does not wake it", what)
	}
}

// A task finds the device of the worker that runs it now, after each wait anew, until the worker has ended.
func TestWorkersHaveTheirDevices(t *testing.T) {
	workers := map[*sched.Worker]bool{}
	eachWithTrays(t, []int{1, 2}, func(t *testing.T, s *sched.Scheduler, all trays) {
		const tasks = 20
		over := schedtest.NewLatch(tasks)
		for range tasks {
			schedtest.Schedule(t, s, func() {
				defer over.Done()
				for range 10 {
					assert.Same(t, all.here(), sched.Current().Worker().Device())
					sched.Sleep(10 * time.Microsecond)
				}
			})
		}
		over.Wait()
		for _, d := range all {
			workers[d.worker] = true
		}
	})
	for w := range workers {
		assert.Nil(t, w.Device(), "the device of %v is closed", w)
	}
}

// Each way to bring work to a worker that sleeps in its device wakes it.
func TestDeviceIsWoken(t *testing.T) {
	eachWithTrays(t, []int{1, 2, 3}, func(t *testing.T, s *sched.Scheduler, all trays) {
		enqueue := func(f func()) { require.NoError(t, s.Go(f)) }
		blocked := func() (o *operation, d *tray, over chan struct{}) {
			over = make(chan struct{})
			begun := make(chan struct{})
			enqueue(func() {
				defer close(over)
				d = all.here()
				o = d.begin()
				close(begun)
				o.await()
			})
			comesInTime(t, begun, "a task")
			all.awaitSleep(t)
			return o, d, over
		}
		ways := map[string]func(){
			"a task": func() {
				over := make(chan struct{})
				enqueue(func() { close(over) })
				comesInTime(t, over, "a task")
			},
			"a task for one worker": func() {
				for i := range all {
					over := make(chan struct{})
					require.NoError(t, s.EnqueueOn(i, sched.Task{Func: func() { close(over) }}))
					comesInTime(t, over, "a task for one worker")
					all.awaitSleep(t)
				}
			},
			"a batch": func() {
				over := schedtest.NewLatch(10)
				for range 10 {
					enqueue(over.Done)
				}
				comesInTime(t, over.Opened(), "a batch")
			},
			"a completion": func() {
				o, d, over := blocked()
				d.complete(o)
				comesInTime(t, over, "a completion")
			},
			"a notification": func() {
				o, d, over := blocked()
				o.mu.Lock()
				o.over = true
				o.mu.Unlock()
				o.fiber.Notify()
				comesInTime(t, over, "a notification")
				d.pending.Add(-1)
			},
			"a deadline": func() {
				over := make(chan struct{})
				enqueue(func() {
					sched.Sleep(200 * time.Microsecond)
					close(over)
				})
				comesInTime(t, over, "a deadline")
			},
			"a fiber that goes on elsewhere": func() { // a completion wakes a fiber, and that one another
				o, d, over := blocked()
				next, other, last := blocked()
				enqueue(func() {
					first := all.here()
					mine := first.begin()
					first.complete(mine)
					mine.await()
					other.complete(next)
					d.complete(o)
				})
				comesInTime(t, over, "a fiber of another worker")
				comesInTime(t, last, "a fiber of another worker")
			},
		}
		rounds := 8
		if testing.Short() {
			rounds = 2
		}
		for range rounds {
			for _, way := range ways {
				all.awaitSleep(t)
				way()
			}
		}
		all.awaitSleep(t) // and what wakes it last is Close
	})
}

// Tasks, completions and deadlines come at any moment, also while the worker is about to sleep, and from several
// threads at once.
func TestDeviceLosesNoWakeUp(t *testing.T) {
	suite.KeepCollecting(t)
	eachWithTrays(t, []int{1, 2, 3}, func(t *testing.T, s *sched.Scheduler, all trays) {
		r := suite.NewRand(t)
		const lanes = 3
		rounds := 100
		if testing.Short() {
			rounds = 30
		}
		var over sync.WaitGroup
		progress := new(atomic.Uint64)
		for range lanes {
			r := rand.New(rand.NewPCG(r.Uint64(), 1))
			over.Add(1)
			go func() {
				defer over.Done()
				for range rounds {
					pause, kind := time.Duration(r.IntN(60))*time.Microsecond, r.IntN(3)
					done := make(chan struct{})
					begun := make(chan func(), 1)
					assert.NoError(t, s.Go(func() {
						defer close(done)
						switch kind {
						case 0:
							begun <- func() {}
							sched.Sleep(pause)
						case 1:
							d := all.here()
							o := d.begin()
							begun <- func() { d.complete(o) }
							o.await()
						default:
							begun <- func() {}
						}
					}))
					wake := <-begun
					if pause > 20*time.Microsecond {
						time.Sleep(pause)
					}
					wake()
					<-done
					progress.Add(1)
				}
			}()
		}
		state := func() string { return "fibers wait for their devices" }
		schedtest.Watch(t, schedtest.Watched{Scheduler: s, Progress: progress, State: state}, over.Wait)
	})
}

// A worker that always has something to run polls its device all the same.
func TestDeviceIsPolledByBusyWorkers(t *testing.T) {
	busy := map[string]func(s *sched.Scheduler, over *atomic.Bool, ended func()){
		"fibers that yield": func(s *sched.Scheduler, over *atomic.Bool, ended func()) {
			for !over.Load() {
				sched.Yield()
			}
			ended()
		},
		"tasks": func(s *sched.Scheduler, over *atomic.Bool, ended func()) {
			var next func()
			next = func() {
				if over.Load() {
					ended()
				} else if err := s.Go(next); err != nil {
					panic(err)
				}
			}
			next()
		},
	}
	for what, keepBusy := range busy {
		t.Run(what, func(t *testing.T) {
			eachWithTrays(t, []int{1, 2}, func(t *testing.T, s *sched.Scheduler, all trays) {
				var over atomic.Bool
				const each = 3
				ended := schedtest.NewLatch(each * len(all))
				for range each * len(all) {
					schedtest.Schedule(t, s, func() { keepBusy(s, &over, ended.Done) })
				}
				for range 5 {
					done := make(chan struct{})
					schedtest.Schedule(t, s, func() {
						defer close(done)
						d := all.here()
						o := d.begin()
						d.complete(o)
						o.await()
					})
					comesInTime(t, done, "a completion")
				}
				over.Store(true)
				ended.Wait()
			})
		})
	}
}

// Completions that never end do not keep tasks from being begun, nor deadlines from passing.
func TestDeviceStarvesNoTask(t *testing.T) {
	eachWithTrays(t, []int{1, 2}, func(t *testing.T, s *sched.Scheduler, all trays) {
		var stop atomic.Bool
		const each = 5
		ended := schedtest.NewLatch(each * len(all))
		for range each * len(all) {
			schedtest.Schedule(t, s, func() {
				defer ended.Done()
				for !stop.Load() {
					d := all.here()
					o := d.begin()
					d.complete(o)
					o.await()
				}
			})
		}
		for range 5 {
			done := make(chan struct{})
			schedtest.Schedule(t, s, func() {
				sched.Sleep(time.Microsecond)
				close(done)
			})
			comesInTime(t, done, "a deadline")
		}
		stop.Store(true)
		ended.Wait()
	})
}

// A fiber that waits for a device is no deadlock, however long it takes; what waits for nothing else is one.
func TestDeadlockBesideADevice(t *testing.T) {
	eachWithTrays(t, []int{1, 2}, func(t *testing.T, s *sched.Scheduler, all trays) {
		var o, never *operation
		var d *tray
		begun, over := make(chan struct{}), make(chan struct{})
		schedtest.Schedule(t, s, func() {
			defer close(over)
			d = all.here()
			o, never = d.begin(), &operation{fiber: sched.Current()}
			close(begun)
			o.await()
			never.await()
		})
		<-begun
		time.AfterFunc(80*time.Millisecond, func() { d.complete(o) })
		var deadlock *sched.Deadlock
		require.ErrorAs(t, s.Close(), &deadlock)
		require.Zero(t, d.pending.Load(), "it was told before the device had anything to tell")
		require.Len(t, deadlock.Fibers, 1)
		never.mu.Lock()
		never.over = true
		never.mu.Unlock()
		never.fiber.Notify()
		<-over
	})
}

// Close waits for fibers, but not for what goroutines do with a device.
func TestCloseBesideAGoroutinesOperation(t *testing.T) {
	eachWithTrays(t, []int{1, 2}, func(t *testing.T, s *sched.Scheduler, all trays) {
		for _, d := range all {
			d.pending.Add(1)
		}
	})
}

// If one device cannot be made there is no scheduler, and the other devices are closed.
func TestDeviceThatCannotBeMade(t *testing.T) {
	cause := errors.New("deliberate")
	over := suite.Over{Workers: []int{1, 3}, Only: suite.HasThreads}
	over.Run(t, func(t *testing.T, cfg sched.Config) {
		for _, last := range []error{cause, sched.ErrGoexit} {
			roots := fiber.ReadStats().Roots
			all := newTrays(&cfg)
			open := cfg.Device
			var opened sync.WaitGroup
			opened.Add(cfg.Workers - 1)
			cfg.Device = func(w *sched.Worker) (sched.Device, error) {
				if w.ID() < cfg.Workers-1 {
					defer opened.Done()
					return open(w)
				}
				opened.Wait()
				if last == sched.ErrGoexit {
					runtime.Goexit()
				}
				return nil, cause
			}
			_, err := sched.New(cfg)
			require.ErrorIs(t, err, last)
			require.ErrorContains(t, err, fmt.Sprintf("the device of scheduler worker %d", cfg.Workers-1))
			requireRoots(t, roots, err)
			for i, d := range all[:cfg.Workers-1] {
				require.True(t, d.closed.Load(), "the device of worker %d", i)
			}
		}
	})
}

// Workers without a thread have no device.
func TestNoDeviceWithoutAThread(t *testing.T) {
	over := suite.Over{
		Workers: []int{0, 2}, Only: func(cfg sched.Config) bool { return cfg.Workers == 0 || !suite.HasThreads(cfg) },
	}
	over.Run(t, func(t *testing.T, cfg sched.Config) {
		cfg.Device = func(w *sched.Worker) (sched.Device, error) { return nil, fmt.Errorf("asked for that of %v", w) }
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			schedtest.Perform(t, s, func() { sched.Sleep(time.Microsecond) })
		})
	})
}

// faulty is a tray that panics.
type faulty struct {
	*tray
	where string
	begun atomic.Bool
}

func (d *faulty) panicIn(where string) {
	if d.begun.Load() && where == d.where {
		panic("deliberate")
	}
}

func (d *faulty) Ready() bool { d.panicIn("Ready"); return true }
func (d *faulty) Poll()       { d.panicIn("Poll"); d.tray.Poll() }
func (d *faulty) Wait(limit time.Duration, brief bool) {
	d.panicIn("Wait")
	d.tray.Wait(limit, brief)
}

const envFault = "FIBERLAB_TEST_FAULT"

// A panic of a device is no task's: it ends the program whatever Config.Panicked says.
var childDevicePanics = child.New("device panics", func(t child.T, b fiber.Backend) {
	cfg := child.Config(t, b)
	d := &faulty{tray: &tray{news: make(chan struct{}, 1)}, where: os.Getenv(envFault)}
	cfg.Panicked = func(any, []byte) { fmt.Println("it reached Config.Panicked"); os.Exit(0) }
	cfg.Device = func(w *sched.Worker) (sched.Device, error) { return d, nil }
	s, err := sched.New(cfg)
	require.NoError(t, err)
	busy := func() {
		for range 1000 {
			sched.Yield()
		}
	}
	require.NoError(t, s.Go(func() {
		d.begun.Store(true)
		_ = s.Go(busy)
		busy() // while one runs the other one can: the worker polls
		if d.where == "Wait" {
			d.begin().await() // for ever: the worker has nothing left but to wait
		}
	}))
	_ = s.Close()
})

func TestDevicePanics(t *testing.T) {
	over := suite.Over{Workers: []int{1}, Only: suite.HasThreads}
	for _, cfg := range over.Configs(t.Name()) {
		for _, where := range []string{"Ready", "Poll", "Wait"} {
			t.Run(suite.Name(cfg)+"/"+where, func(t *testing.T) {
				out := child.RunCrash(t, childDevicePanics, cfg.Backend, child.Env(cfg), envFault+"="+where)
				require.Contains(t, out, "Device."+where+" on scheduler worker 0: deliberate")
				require.NotContains(t, out, "reached")
			})
		}
	}
}
