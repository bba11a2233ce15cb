package sched_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/tests/internal/suite"
)

// A task that comes to an idle scheduler wakes the worker that begins it, and no other one besides.
func TestTaskWakesOneWorker(t *testing.T) {
	suite.Over{Workers: []int{2, 4}}.Run(t, func(t *testing.T, cfg sched.Config) {
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			const tasks = 200
			before := sleeps(s)
			for range tasks {
				time.Sleep(time.Millisecond) // all fall asleep, or the worker is not woken at all
				done := make(chan struct{})
				require.NoError(t, s.Go(func() { close(done) }))
				<-done
			}
			slept := sleeps(s) - before
			assert.Less(t, slept, uint64(tasks*3/2), "sleeps of the workers, which began %d tasks one by one", tasks)
		})
	})
}

// sleeps is how often workers of s have slept.
func sleeps(s *sched.Scheduler) (n uint64) {
	for _, w := range s.Stats().Workers {
		n += w.Sleeps
	}
	return n
}
