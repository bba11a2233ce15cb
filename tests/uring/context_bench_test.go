package uring_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/uring"
	"fiberlab/sched/uring/dispatch"
	"fiberlab/tests/internal/schedtest"
)

// tasksAtOnce is how many empty tasks BenchmarkContextTasks submits before it waits for them.
const tasksAtOnce = 1_000_000

// taskWay is one way to run a task.
type taskWay struct {
	name   string
	submit func(task func()) error
	took   []time.Duration // for tasksAtOnce of them
}

// BenchmarkContextTasks submits empty tasks from a goroutine to a context of each driver, and to a scheduler with one
// worker. Each operation of the benchmark is a million tasks each way, one way after the other. What is reported is the
// median time of a task, and that as a multiple of the scheduler's.
func BenchmarkContextTasks(b *testing.B) {
	s, err := sched.New(sched.Config{Workers: 1})
	require.NoError(b, err)
	ways := []*taskWay{{name: "sched", submit: func(task func()) error { return s.Enqueue(sched.Task{Func: task}) }}}
	over := fibersync.NewLatch(1)
	var contexts []*dispatch.Context
	for _, driver := range uring.Drivers() {
		if driver == uring.Uring && uring.Probe().Reason != nil {
			continue
		}
		c := dispatch.NewContext(dispatch.Options{Engine: uring.Options{Driver: driver}})
		require.NoError(b, c.Submit(dispatch.TopLevel{Run: over.Wait})) // keeps the context from stopping
		require.NoError(b, c.Start())
		contexts = append(contexts, c)
		ways = append(ways, &taskWay{name: fmt.Sprintf("context-%v", driver), submit: func(task func()) error {
			return c.Submit(dispatch.TopLevel{Run: task})
		}})
	}
	b.ResetTimer()
	for range b.N {
		for _, w := range ways {
			ended := schedtest.NewCountdown(tasksAtOnce)
			start := time.Now()
			for range tasksAtOnce {
				if err := w.submit(ended.Done); err != nil {
					b.Fatal(err)
				}
			}
			ended.Wait()
			w.took = append(w.took, time.Since(start))
		}
	}
	b.StopTimer()
	var first float64
	for i, w := range ways {
		slices.Sort(w.took)
		ns := float64(w.took[len(w.took)/2].Nanoseconds()) / tasksAtOnce
		b.ReportMetric(ns, w.name+"-ns/task")
		if i == 0 {
			first = ns
			continue
		}
		b.ReportMetric(ns/first, w.name+"-x-sched")
	}
	b.ReportMetric(0, "ns/op")
	over.CountDown()
	for _, c := range contexts {
		require.NoError(b, c.Join())
	}
	require.NoError(b, s.Close())
}
