package sched

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched/park"
)

// bed is a device in which a worker sleeps until it is woken, and that has no operations.
type bed struct{ woken chan struct{} }

func (b bed) Ready() bool  { return false }
func (b bed) Poll()        {}
func (b bed) Pending() int { return 0 }
func (b bed) Close() error { return nil }

func (b bed) Wait(limit time.Duration, _ bool) {
	var passed <-chan time.Time
	if limit >= 0 {
		passed = time.After(limit)
	}
	select {
	case <-b.woken:
	case <-passed:
	}
}

func (b bed) Wake() {
	select {
	case b.woken <- struct{}{}:
	default:
	}
}

// The stack of a task that blocks has not to hold how another fiber is made, if the worker has a device.
func TestFibersAreMadeBeforeTasksBegin(t *testing.T) {
	var opened atomic.Int32 // some policies may have no threads, and no devices then
	for _, p := range Policies() {
		t.Run(p.String(), func(t *testing.T) {
			var made, deep atomic.Int32
			before := opened.Load()
			previous := newFiber
			newFiber = func(cfg fiber.Config, body func()) (*fiber.Fiber, error) {
				made.Add(1)
				if f := Current(); f != nil && f.load().state() != Running {
					deep.Add(1)
				}
				return previous(cfg, body)
			}
			defer func() { newFiber = previous }()
			s, err := New(Config{Workers: 1, Policy: p, Device: func(*Worker) (Device, error) {
				opened.Add(1)
				return bed{make(chan struct{}, 1)}, nil
			}})
			require.NoError(t, err)
			const tasks = 8
			waiting := make(chan park.Parker, tasks)
			next := func() (w park.Parker) {
				select {
				case w = <-waiting:
				case <-time.After(time.Minute):
					require.FailNow(t, "a task does not begin")
				}
				return w
			}
			var all []park.Parker
			for n := range tasks {
				require.NoError(t, s.Go(func() {
					me := park.Current()
					waiting <- me
					me.Park(time.Time{})
				}))
				if n < tasks/2 { // one at a time, and then several at once
					all = append(all, next())
				}
			}
			for len(all) < tasks {
				all = append(all, next())
			}
			for _, w := range all {
				w.Unpark()
			}
			require.NoError(t, s.Close())
			require.GreaterOrEqual(t, made.Load(), int32(tasks))
			if opened.Load() > before {
				require.Zero(t, deep.Load(), "fibers were made on the stacks of tasks")
			}
		})
	}
	require.NotZero(t, opened.Load())
}

// A worker with a device needs one fiber besides the task's, whether the task waits or not.
func TestDeviceWithoutAnotherFiber(t *testing.T) {
	for _, p := range Policies() {
		t.Run(p.String(), func(t *testing.T) {
			s, err := New(Config{
				Workers: 1, Policy: p, Exhausted: func(error) {},
				Device: func(*Worker) (Device, error) { return bed{make(chan struct{}, 1)}, nil },
			})
			require.NoError(t, err)
			holdsFiber(t, s, 0)
			exhausted.Store(true)
			defer exhausted.Store(false)
			for range 3 {
				waiting, done := make(chan park.Parker, 1), make(chan struct{})
				require.NoError(t, s.Go(func() {
					waiting <- park.Current()
					park.Current().Park(time.Time{})
					close(done)
				}))
				select {
				case w := <-waiting:
					w.Unpark()
				case <-time.After(time.Minute):
					exhausted.Store(false)
					require.FailNow(t, "a task does not begin")
				}
				finishes(t, done, "a task does not go on")
			}
			exhausted.Store(false)
			require.NoError(t, s.Close())
		})
	}
}

// A task that could not begin because no fiber could be made begins as soon as there is memory, and so do later tasks.
func TestTasksBeginAfterAShortage(t *testing.T) {
	for _, p := range Policies() {
		t.Run(p.String(), func(t *testing.T) {
			tried := make(chan struct{}, 1)
			s, err := New(Config{
				Workers: 1, Policy: p, Exhausted: func(error) { tried <- struct{}{} },
				Device: func(*Worker) (Device, error) { return bed{make(chan struct{}, 1)}, nil },
			})
			require.NoError(t, err)
			exhausted.Store(true)
			defer exhausted.Store(false)
			for range 2 {
				done := make(chan struct{})
				require.NoError(t, s.Go(func() { close(done) }))
				if exhausted.Load() {
					<-tried
					require.Equal(t, 1, s.Stats().Pending, "the task waits in its queue")
					exhausted.Store(false)
				}
				finishes(t, done, "a task does not begin")
			}
			require.NoError(t, s.Close())
			require.Empty(t, tried, "a shortage is reported once")
		})
	}
}
