package sched_test

import (
	"context"
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

// A goroutine that is bound ends. What it has left cannot be taken away, so this is a child.
var childEndsBound = child.New("a bound goroutine ends", func(t child.T, b fiber.Backend) {
	s, err := sched.New(child.Config(t, b))
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		require.NoError(t, s.Bind())
	}()
	<-ended
	for range 2 { // the scheduler stays as it is
		err = s.Close()
		require.ErrorIs(t, err, sched.ErrNotUnbound)
		require.Regexp(
			t, `^sched: close scheduler: goroutine \d+, which was scheduler worker \d: .*: call Unbind`, err.Error(),
		)
	}
})

// Close says that a goroutine has ended without Unbind, which it would wait for.
func TestCloseNamesBoundGoroutineThatHasEnded(t *testing.T) {
	for _, cfg := range (suite.Over{Workers: []int{0, 2}}).Configs(t.Name()) {
		t.Run(suite.Name(cfg), func(t *testing.T) {
			t.Parallel()
			child.RunOK(t, childEndsBound, cfg.Backend, child.Env(cfg))
		})
	}
}

// A goroutine that is bound and lives may take longer than Close asks for the first time, which is after
// DefaultGiveUpAfter. That depends on no configuration, and takes seconds: so one stands for all.
func TestCloseWaitsForBoundGoroutine(t *testing.T) {
	cfg := suite.Over{Workers: []int{1}}.Configs(t.Name())[0]
	s, err := sched.New(cfg)
	require.NoError(t, err)
	bound, unbound := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(unbound)
		assert.NoError(t, s.Bind())
		close(bound)
		time.Sleep(2 * sched.DefaultGiveUpAfter)
		assert.NoError(t, sched.Unbind())
	}()
	<-bound
	require.NoError(t, s.Close())
	<-unbound
}

// A second Close, and Bind in a task, name what fits them.
func TestRemediesOfCloseAndBind(t *testing.T) {
	suite.EachConfig(t, suite.OneThread, func(t *testing.T, cfg sched.Config) {
		s, err := sched.New(cfg)
		require.NoError(t, err)
		if cfg.Workers == 0 {
			require.NoError(t, s.Bind())
			assert.ErrorContains(t, s.Bind(), "unbind it first")
		}
		schedtest.Perform(t, s, func() { assert.ErrorContains(t, s.Bind(), "use what sched.Get returns") })
		if cfg.Workers == 0 {
			require.NoError(t, sched.Unbind())
		}
		require.NoError(t, s.Close())
		assert.EqualError(
			t, s.CloseContext(context.Background()),
			"sched: close scheduler: an earlier call has closed the scheduler: close it once",
		)
	})
}
