package sched_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/trace"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// The workers' own counts make up the sums, their time all that has passed.
func TestStatsOfWorkers(t *testing.T) {
	for _, b := range fiber.Backends() {
		r := trace.NewRecorder(0)
		before := time.Now()
		s, err := sched.New(sched.Config{Workers: 3, Backend: b, Recorder: r})
		require.NoError(t, err)
		for range 100 {
			require.NoError(t, s.Go(func() { sched.Sleep(time.Microsecond) }))
		}
		require.NoError(t, s.Close())
		took := time.Since(before)
		stats, transitions := s.Stats(), r.Transitions()
		var sum sched.WorkerStats
		for i, w := range stats.Workers {
			assert.Equal(t, i, w.Worker)
			assert.LessOrEqual(t, w.Busy+w.Idle, took)
			assert.Positive(t, w.Idle)
			sum.Tasks += w.Tasks
			sum.Switches += w.Switches
			sum.Stolen += w.Stolen
			sum.Sleeps += w.Sleeps
		}
		require.Len(t, stats.Workers, 3)
		assert.EqualValues(t, 100, sum.Tasks)
		assert.Equal(t, stats.Tasks, sum.Tasks)
		assert.Equal(t, stats.Stolen, sum.Stolen)
		var switches uint64
		for from := sched.Idle; from <= sched.Running; from++ {
			switches += transitions.Of(from, sched.Running)
		}
		assert.Equal(t, switches, sum.Switches)
		assert.Positive(t, sum.Sleeps, "all have slept, or Close would still wait")
		assert.Equal(t, stats.Workers, s.Stats().Workers, "a worker that has ended does nothing more")
	}
}

// The mailbox of a worker that computes fills. Stats and CloseContext count the tasks in it, and no fibers.
func TestPendingCountsTheMailbox(t *testing.T) {
	suite.EachConfig(t, []int{1, 2}, func(t *testing.T, cfg sched.Config) {
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			const tasks, sleepers = 1000, 5
			asleep, ran := schedtest.NewLatch(sleepers), schedtest.NewLatch(sleepers+tasks)
			var fibers [sleepers]*sched.Fiber
			for i := range fibers {
				require.NoError(t, s.EnqueueOn(0, sched.Task{Func: func() {
					fibers[i] = sched.Current()
					asleep.Done()
					sched.Current().Wait(nil, nil)
					ran.Done()
				}}))
			}
			asleep.Wait()
			computes, end := make(chan struct{}), make(chan struct{})
			require.NoError(t, s.EnqueueOn(0, sched.Task{Func: func() { close(computes); <-end }}))
			<-computes
			for i := range tasks {
				if i < sleepers {
					fibers[i].Notify()
				}
				require.NoError(t, s.EnqueueOn(0, sched.Task{Func: ran.Done}))
			}
			assert.Equal(t, tasks, s.Stats().Pending, "Stats.Pending")
			assert.ErrorContains(t, s.CloseContext(over()), fmt.Sprintf("left are %d tasks", tasks))
			close(end)
			ran.Wait()
			assert.Zero(t, s.Stats().Pending, "Stats.Pending at the end")
		})
	})
}
