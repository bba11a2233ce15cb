package forkjoin_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/forkjoin"
	"fiberlab/tests/internal/leaks"
)

// A report of a deadlock names Get as the call that blocks a task, and the program's own function as the place.
func TestDeadlockNamesGet(t *testing.T) {
	leaks.Check(t)
	s, err := sched.New(sched.Config{Workers: 2})
	require.NoError(t, err)
	p, err := forkjoin.New(s, forkjoin.Config{})
	require.NoError(t, err)
	var release fibersync.Event
	f := forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { release.Wait(); return 1, nil })
	for f.Status() != fibersync.InProgress {
		pause()
	}
	fetched := fibersync.AsyncOn(s, func() (int, error) { return f.Get() })
	closed := s.Close()
	var d *sched.Deadlock
	if assert.True(t, errors.As(closed, &d), "%v", closed) {
		assert.ErrorContains(
			t, closed, "by forkjoin.(*Future[...]).Get in fiberlab/tests/forkjoin_test.TestDeadlockNamesGet",
		)
	}
	release.Signal()
	v, err := fetched.Get()
	assert.NoError(t, err)
	assert.Equal(t, 1, v)
	assert.NoError(t, p.Close())
	assert.NoError(t, s.Close())
}
