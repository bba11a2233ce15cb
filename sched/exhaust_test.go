package sched

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/internal/clock"
)

// exhausted makes workers unable to make fibers while it is set.
var exhausted atomic.Bool

func init() {
	make := newFiber
	newFiber = func(cfg fiber.Config, f func()) (*fiber.Fiber, error) {
		if exhausted.Load() {
			return nil, errors.New("no fiber left")
		}
		return make(cfg, f)
	}
}

// holdsFiber has that worker of s run a task: it holds a fiber then for the time when the next one waits.
func holdsFiber(t *testing.T, s *Scheduler, worker int) {
	done := make(chan struct{})
	require.NoError(t, s.EnqueueOn(worker, Task{Func: func() { close(done) }}))
	<-done
	for !s.workers[worker].word.Asleep() {
		time.Sleep(100 * time.Microsecond)
	}
}

// onExhausted calls test with a scheduler of one worker under each policy. Its first task can block, but no other task
// can begin then.
func onExhausted(t *testing.T, test func(t *testing.T, s *Scheduler)) {
	for _, p := range Policies() {
		t.Run(p.String(), func(t *testing.T) {
			s, err := New(Config{Workers: 1, Policy: p, Exhausted: func(error) {}})
			require.NoError(t, err)
			holdsFiber(t, s, 0)
			exhausted.Store(true)
			defer exhausted.Store(false)
			test(t, s)
			exhausted.Store(false)
			require.NoError(t, s.Close())
		})
	}
}

// finishes fails the test if done is not closed.
func finishes(t *testing.T, done <-chan struct{}, what string) {
	select {
	case <-done:
	case <-time.After(time.Minute):
		exhausted.Store(false)
		require.FailNow(t, what)
	}
}

// A task that yields goes on if the task that it gave way to cannot begin.
func TestYieldReturnsOnAnExhaustedWorker(t *testing.T) {
	onExhausted(t, func(t *testing.T, s *Scheduler) {
		done := make(chan struct{})
		require.NoError(t, s.Go(func() {
			_ = s.Go(func() {})
			for range 2 * mostResumed {
				Yield()
			}
			close(done)
		}))
		finishes(t, done, "a task has yielded, and never goes on")
	})
}

// closesLater closes s, whose workers are exhausted, and returns the deadlock that must be reported. Then there is
// memory again, the blocked tasks go on, and s is closed.
func closesLater(t *testing.T, s *Scheduler, blocked ...*flag) (deadlock error) {
	report := make(chan error, 1)
	go func() { report <- s.Close() }()
	reported := false
	select {
	case deadlock = <-report:
		reported = true
		assert.ErrorIs(t, deadlock, ErrDeadlock)
	case <-time.After(hang):
		t.Error("the deadlock is not reported")
	}
	exhausted.Store(false)
	for _, f := range blocked {
		f.raise()
	}
	if reported {
		go func() { report <- s.Close() }()
	}
	require.NoError(t, <-report)
	return deadlock
}

// A worker sleeps until a deadline, and then cannot make a fiber for a task. It keeps no deadline that would delay the
// report of the deadlock.
func TestExhaustedWorkerHasNoOldDeadline(t *testing.T) {
	for _, p := range Policies() {
		t.Run(p.String(), func(t *testing.T) {
			s, err := New(Config{Workers: 1, Policy: p, Exhausted: func(error) {}, GiveUpAfter: time.Millisecond})
			require.NoError(t, err)
			defer exhausted.Store(false)
			blocked, second := newFlag(), newFlag()
			require.NoError(t, s.Go(func() {
				Sleep(time.Millisecond)
				exhausted.Store(true)
				_ = s.Go(second.await)
				_ = s.Go(func() {})
				blocked.await()
			}))
			<-blocked.held
			require.ErrorContains(t, closesLater(t, s, blocked, second), "2 tasks cannot begin")
		})
	}
}

// A worker could make no fiber for a task, and another worker has begun that task. A fiber that is ready then goes on
// at once on the first worker, where it needs no other fiber, while the second one computes.
func TestWorkerWithoutTasksIsNotExhausted(t *testing.T) {
	for _, p := range []Policy{RoundRobin, Group} {
		t.Run(p.String(), func(t *testing.T) {
			var tried atomic.Bool
			s, err := New(Config{Workers: 2, Policy: p, Exhausted: func(error) { tried.Store(true) }})
			require.NoError(t, err)
			defer exhausted.Store(false)
			first, second := newComputation(), newComputation()
			require.NoError(t, s.EnqueueOn(1, Task{Func: first.run}))
			<-first.begun
			ready, ended := newFlag(), make(chan struct{})
			require.NoError(t, s.Go(func() { ready.await(); close(ended) }))
			<-ready.held
			exhausted.Store(true)
			require.NoError(t, s.Go(second.run))
			for !tried.Load() {
				time.Sleep(time.Millisecond)
			}
			close(first.over)
			<-second.begun
			for !s.workers[0].word.Asleep() {
				time.Sleep(time.Millisecond)
			}
			ready.raise()
			finishes(t, ended, "a fiber that is ready waits, and a worker sleeps")
			close(second.over)
			require.NoError(t, s.Close())
		})
	}
}

// computation is a task that does not wait.
type computation struct{ begun, over chan struct{} }

func newComputation() *computation {
	return &computation{begun: make(chan struct{}), over: make(chan struct{})}
}

// run keeps its worker's thread until over is closed.
func (c *computation) run() {
	close(c.begun)
	<-c.over
}

// The deadlock is reported where many tasks cannot begin, and where one cannot on many workers: that they try again and
// again does not count as if something ran.
func TestDeadlockOfExhaustedWorkersIsReported(t *testing.T) {
	for _, size := range []struct{ workers, tasks int }{{1, 5000}, {32, 1}} {
		for _, p := range Policies() {
			t.Run(fmt.Sprintf("workers=%d/tasks=%d/%v", size.workers, size.tasks, p), func(t *testing.T) {
				s, err := New(
					Config{Workers: size.workers, Policy: p, Exhausted: func(error) {}, GiveUpAfter: time.Second / 2},
				)
				require.NoError(t, err)
				for worker := range size.workers {
					holdsFiber(t, s, worker)
				}
				exhausted.Store(true)
				defer exhausted.Store(false)
				blocked := make([]*flag, size.workers)
				for worker := range blocked {
					blocked[worker] = newFlag()
					require.NoError(t, s.EnqueueOn(worker, Task{Func: blocked[worker].await}))
					<-blocked[worker].held
				}
				for range size.tasks {
					require.NoError(t, s.Go(func() {}))
				}
				closesLater(t, s, blocked...)
			})
		}
	}
}

// A worker could make no fiber for a task, and another worker has stolen that task. When there is memory again, the
// first worker steals what the second has queued and does not come to.
func TestExhaustedWorkerStealsLater(t *testing.T) {
	tried := make(chan struct{})
	var once sync.Once
	s, err := New(Config{Workers: 2, Exhausted: func(error) { once.Do(func() { close(tried) }) }})
	require.NoError(t, err)
	defer exhausted.Store(false)
	first, blocked := newComputation(), newFlag()
	require.NoError(t, s.EnqueueOn(1, Task{Func: first.run}))
	<-first.begun
	holdsFiber(t, s, 0)
	exhausted.Store(true)
	require.NoError(t, s.EnqueueOn(0, Task{Func: blocked.await}))
	<-blocked.held
	begun := make(chan struct{})
	require.NoError(t, s.Go(func() { close(begun) }))
	finishes(t, tried, "the task has not come to the worker that sleeps")
	close(first.over)
	finishes(t, begun, "the task has not begun on the other worker")
	for !s.workers[0].word.Asleep() {
		time.Sleep(time.Millisecond)
	}
	exhausted.Store(false)
	helped := make(chan struct{})
	require.NoError(t, s.EnqueueOn(1, Task{Func: func() {
		_ = s.Go(func() { close(helped) })
		<-helped
	}}))
	finishes(t, helped, "a task waits for a worker that computes, and the other one sleeps")
	blocked.raise()
	require.NoError(t, s.Close())
}

// Unbind reports the tasks for which it can make no fiber, and begins them when there is memory again.
func TestUnbindReportsTasksThatCannotBegin(t *testing.T) {
	for _, p := range Policies() {
		t.Run(p.String(), func(t *testing.T) {
			s, err := New(Config{Policy: p, Exhausted: func(error) {}, GiveUpAfter: time.Millisecond})
			require.NoError(t, err)
			require.NoError(t, s.Bind())
			exhausted.Store(true)
			defer exhausted.Store(false)
			begun := false
			assert.NoError(t, s.Go(func() { begun = true }))
			lift := time.AfterFunc(hang, func() { exhausted.Store(false) })
			var deadlock *Deadlock
			if assert.ErrorAs(t, Unbind(), &deadlock) {
				assert.ErrorContains(t, deadlock, "1 tasks cannot begin")
				assert.False(t, begun)
				exhausted.Store(false)
				assert.NoError(t, Unbind())
			}
			lift.Stop()
			require.True(t, begun)
			require.NoError(t, s.Close())
		})
	}
}

// A scheduler is not over while a worker that can make no fiber moves tasks from its mailbox to its queue.
func TestTasksOnTheirWayAreCounted(t *testing.T) {
	w, _ := planted(t, RoundRobin)
	s := w.scheduler
	for _, w := range s.workers {
		w.fallAsleep()
	}
	before := s.survey()
	require.True(t, before.over())
	w.word.Work()
	w.local.retry = clock.Never
	require.True(t, w.keep(someTask, nil))
	message := w.mailbox.Take()
	require.False(t, func() bool { v := s.survey(); return v.over() }())
	w.pushTask(message.Value)
	w.fallAsleep()
	after := s.survey()
	require.False(t, after.over())
	require.True(t, after.quiet, "a task that cannot begin")
}

// The workers of a scheduler that New could not start end when their last fiber has gone on, on whichever worker.
func TestWorkersEndWithTheLastFiber(t *testing.T) {
	for _, p := range Policies() {
		t.Run(p.String(), func(t *testing.T) {
			var s *Scheduler
			f := newFlag()
			raised := make(chan struct{})
			_, err := New(Config{Workers: 2, Policy: p, Initializer: func(worker int) {
				if worker == 0 {
					s = Get()
					assert.NoError(t, Schedule(f.await, SameThread))
					return
				}
				<-f.held
				go func() {
					defer close(raised)
					for !s.workers[1].word.Asleep() { // it has nothing left, but for the fiber of the other worker
						time.Sleep(time.Millisecond)
					}
					f.raise()
				}()
				runtime.Goexit()
			}})
			require.ErrorIs(t, err, ErrGoexit)
			<-raised
			for _, w := range s.workers {
				select {
				case <-w.done:
				case <-time.After(hang):
					t.Fatalf("%s never ends", w.name)
				}
			}
		})
	}
}

// Config.Exhausted is called once in a shortage, however often fibers wait in that time.
func TestExhaustedIsToldOnce(t *testing.T) {
	for _, p := range Policies() {
		t.Run(p.String(), func(t *testing.T) {
			var told atomic.Int64
			s, err := New(Config{Workers: 1, Policy: p, Exhausted: func(error) { told.Add(1) }})
			require.NoError(t, err)
			holdsFiber(t, s, 0)
			exhausted.Store(true)
			defer exhausted.Store(false)
			done := make(chan struct{})
			require.NoError(t, s.Go(func() {
				defer close(done)
				assert.NoError(t, s.Go(func() {}))
				for range 20 {
					Sleep(2 * retryPause)
				}
			}))
			finishes(t, done, "the task that waits does not go on")
			exhausted.Store(false)
			require.NoError(t, s.Close())
			require.EqualValues(t, 1, told.Load())
		})
	}
}

// New ends what it has begun, even if a worker has tasks for another one that cannot begin.
func TestNoTaskHoldsAWorkerThatCannotBegin(t *testing.T) {
	for _, p := range Policies() {
		t.Run(p.String(), func(t *testing.T) {
			var s *Scheduler
			_, err := New(Config{
				Workers: 2, Policy: p, Affinity: func(worker int) []int { return []int{1023 * worker} },
				Initializer: func(int) {
					s = Get()
					<-s.workers[1].done
					assert.NoError(t, s.EnqueueOn(1, Task{Func: func() {}}))
				},
			})
			require.ErrorIs(t, err, ErrAffinity)
			require.NotContains(t, err.Error(), "and workers end only when")
			<-s.Done()
		})
	}
}
