package sched_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// A deadlock check has entered a fiber that may migrate. Notified after that, the fiber continues on another worker.
// From there it wakes a fiber that only the worker of the check may run.
func TestFiberMigratesAfterDeadlockCheck(t *testing.T) {
	suite.Over{
		Workers: []int{2}, Only: func(cfg sched.Config) bool { return suite.Migrates(cfg.Policy) },
	}.Run(
		t,
		func(t *testing.T, cfg sched.Config) {
			cfg.GiveUpAfter = time.Millisecond
			for end := time.Now().Add(schedtest.Standstill / 4); ; {
				require.True(t, time.Now().Before(end), "the fiber has never gone on on worker 0")
				if wakesFromElsewhere(t, cfg) {
					return
				}
			}
		},
	)
}

// wakesFromElsewhere reports whether the fiber has continued on worker 0, and not on worker 1, where it has been asked.
func wakesFromElsewhere(t *testing.T, cfg sched.Config) bool {
	s, err := sched.New(cfg)
	require.NoError(t, err)
	first, pinned, migrant := schedtest.NewSleeper(), schedtest.NewSleeper(), schedtest.NewSleeper()
	require.NoError(t, s.EnqueueOn(1, sched.Task{Func: func() { first.Task(); pinned.Task() }}))
	first.Blocked()
	free := holdBy(t, func(f func()) error { return s.EnqueueOn(0, sched.Task{Func: f}) })
	var worker int
	schedtest.Schedule(t, s, func() {
		migrant.Task()
		worker = sched.Current().Worker().ID()
		pinned.Wake()
	})
	require.Equal(t, 1, migrant.Blocked().Worker().ID())
	first.Wake()
	pinned.Blocked() // last, so worker 1 waits on its stack
	free()

	require.ErrorIs(t, s.Close(), sched.ErrDeadlock)
	migrant.Wake()
	migrant.Over.Wait()
	select {
	case <-pinned.Over.Opened():
	case <-time.After(schedtest.Standstill):
		t.Fatalf("woken from worker %d, the fiber of worker 1 does not go on", worker)
	}
	require.NoError(t, s.Close())
	return worker == 0
}
