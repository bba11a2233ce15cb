// Package schedtest runs tasks in tests, waits for them and watches them.
package schedtest

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
)

// Schedule queues f as a task, and marks the test as failed if that does not work. It may
// be called in tasks.
func Schedule(t *testing.T, s *sched.Scheduler, f func()) {
	assert.NoError(t, s.Enqueue(sched.Task{Func: f}))
}

// ScheduleHere queues a task for the worker that the caller runs on.
func ScheduleHere(t *testing.T, s *sched.Scheduler, f func()) {
	assert.NoError(t, s.Enqueue(sched.Task{Func: f, Flags: sched.SameThread}))
}

// Perform runs f as a task and returns when it has returned.
func Perform(t *testing.T, s *sched.Scheduler, f func()) {
	l := NewLatch(1)
	Schedule(t, s, func() {
		defer l.Done()
		f()
	})
	l.Wait()
}

// HoldWorkers runs a task on each of n workers, all at the same time: each holds its
// thread until all have one. It returns when all bodies have returned.
func HoldWorkers(t *testing.T, s *sched.Scheduler, n int, body func(task int)) {
	var met sync.WaitGroup
	met.Add(n)
	over := NewLatch(n)
	for i := range n {
		Schedule(t, s, func() {
			defer over.Done()
			met.Done()
			met.Wait()
			body(i)
		})
	}
	over.Wait()
}
