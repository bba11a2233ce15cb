package sched

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
)

// eachConfig runs test for each backend and policy.
func eachConfig(t *testing.T, test func(t *testing.T, cfg Config)) {
	for _, b := range fiber.Backends() {
		for _, p := range Policies() {
			t.Run(b.String()+"/"+p.String(), func(t *testing.T) { test(t, Config{Backend: b, Policy: p}) })
		}
	}
}

// A worker that can make no fiber for a task goes on with fibers that are ready, though the task came first. The task
// begins when there is memory again.
func TestReadyFibersPassTasksThatCannotBegin(t *testing.T) {
	previous := newFiber
	defer func() { newFiber = previous }()
	eachConfig(t, func(t *testing.T, cfg Config) {
		var made, most atomic.Int64
		most.Store(3)
		newFiber = func(cfg fiber.Config, body func()) (*fiber.Fiber, error) {
			if made.Add(1) > most.Load() {
				return nil, errors.New("no memory")
			}
			return previous(cfg, body)
		}
		var exhausted atomic.Int64
		cfg.Workers, cfg.Exhausted, cfg.MaxIdle = 1, func(error) { exhausted.Add(1) }, 10
		s, err := New(cfg)
		require.NoError(t, err)
		zeroth, first, second := newFlag(), newFlag(), newFlag()
		ended := make(chan struct{})
		require.NoError(t, s.Go(zeroth.await))
		<-zeroth.held
		require.NoError(t, s.Go(func() { first.await(); close(ended) }))
		<-first.held
		require.NoError(t, s.Go(second.await))
		<-second.held // all fibers are blocked but the one that the worker holds to go on
		var begun atomic.Bool
		require.NoError(t, s.Go(func() { begun.Store(true) }))
		for exhausted.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		require.False(t, begun.Load())
		first.raise()
		select {
		case <-ended:
		case <-time.After(hang):
			t.Errorf("a fiber that is ready has not gone on for %v", hang)
		}
		most.Store(1000)
		second.raise()
		zeroth.raise()
		require.NoError(t, s.Close())
		assert.True(t, begun.Load())
	})
}
