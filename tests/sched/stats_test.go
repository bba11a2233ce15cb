package sched_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/trace"
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
