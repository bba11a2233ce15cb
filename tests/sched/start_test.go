package sched_test

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/leaks"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// newInTime is sched.New that fails the test if it does not return.
func newInTime(t *testing.T, cfg sched.Config) (s *sched.Scheduler, err error) {
	t.Helper()
	made := make(chan struct{})
	go func() {
		defer close(made)
		s, err = sched.New(cfg)
	}()
	select {
	case <-made:
	case <-time.After(schedtest.Standstill):
		t.Fatalf("New has not returned for %v", schedtest.Standstill)
	}
	return s, err
}

// Initializers may wait for one another, as goroutines do.
func TestInitializersMeet(t *testing.T) {
	suite.EachConfig(t, suite.SeveralWorkers, func(t *testing.T, cfg sched.Config) {
		var met sync.WaitGroup
		met.Add(cfg.Workers)
		cfg.Initializer = func(int) {
			met.Done()
			met.Wait()
		}
		s, err := newInTime(t, cfg)
		require.NoError(t, err)
		require.NoError(t, s.Close())
	})
}

// An initializer may schedule tasks, for its own worker and for any, and wait for them as
// a task does.
func TestInitializersSchedule(t *testing.T) {
	suite.EachConfig(t, suite.SomeWorkers, func(t *testing.T, cfg sched.Config) {
		var here, anywhere atomic.Int64
		cfg.Initializer = func(int) {
			own := sched.Current().Worker()
			assert.NoError(t, sched.Schedule(func() { anywhere.Add(1) }))
			ran := schedtest.NewLatch(1)
			assert.NoError(t, sched.Get().Enqueue(sched.Task{Flags: sched.SameThread, Func: func() {
				assert.Same(t, own, sched.Current().Worker())
				here.Add(1)
				ran.Done()
			}}))
			ran.Wait()
			assert.Same(t, own, sched.Current().Worker())
		}
		s, err := newInTime(t, cfg)
		require.NoError(t, err)
		assert.EqualValues(t, cfg.Workers, here.Load())
		require.NoError(t, s.Close())
		assert.EqualValues(t, cfg.Workers, anywhere.Load())
	})
}

// An initializer that ends its goroutine is an error of New, and leaves nothing behind.
func TestInitializerCallsGoexit(t *testing.T) {
	suite.EachConfig(t, suite.SomeWorkers, func(t *testing.T, cfg sched.Config) {
		roots := fiber.ReadStats().Roots
		cfg.Initializer = func(worker int) {
			if worker == cfg.Workers-1 {
				runtime.Goexit()
			}
		}
		s, err := newInTime(t, cfg)
		require.ErrorIs(t, err, sched.ErrGoexit)
		assert.Nil(t, s)
		requireRoots(t, roots, err)
	})
}

// New says so, too, if a worker sleeps while a task is blocked that its initializer has scheduled.
func TestInitializerCallsGoexitWhileATaskIsBlocked(t *testing.T) {
	leaks.Check(t)
	before := fiber.ReadStats().Roots
	var end, blocks fibersync.Event
	_, err := newInTime(t, sched.Config{Workers: 2, Initializer: func(worker int) {
		if worker == 1 {
			blocks.Wait()
			runtime.Goexit()
		}
		assert.NoError(t, sched.Schedule(func() { blocks.Signal(); end.Wait() }, sched.SameThread))
	}})
	end.Signal()
	require.ErrorIs(t, err, sched.ErrGoexit)
	require.ErrorContains(t, err, "and workers end only when")
	requireRoots(t, before, err)
}

// requireRoots checks that New, which has failed with err, has ended its workers: there are as many roots as before. It
// waits for workers that have taken longer to end than New waits, as err says.
func requireRoots(t *testing.T, before int, err error) {
	t.Helper()
	gone := func() bool { return fiber.ReadStats().Roots == before }
	if strings.Contains(err.Error(), "and workers end only when") {
		eventually(t, gone, nil, "workers that New has left do not end")
	}
	require.True(t, gone(), "%d roots, and %d before: %v", fiber.ReadStats().Roots, before, err)
}

// New waits a second for an initializer that still waits when another one has called Goexit, and says so. All
// configurations wait at the same time.
func TestInitializerCallsGoexitWhileAnotherWaits(t *testing.T) {
	leaks.Check(t)
	roots := fiber.ReadStats().Roots
	over := suite.Over{Workers: []int{2}}
	var made, left sync.WaitGroup
	never := make(chan struct{})
	for _, cfg := range over.Configs(t.Name()) {
		cfg.Initializer = func(worker int) {
			if worker == 1 {
				runtime.Goexit()
			}
			<-never
			left.Done()
		}
		made.Add(1)
		left.Add(1)
		go func() {
			defer made.Done()
			s, err := sched.New(cfg)
			assert.Nil(t, s, suite.Name(cfg))
			assert.ErrorIs(t, err, sched.ErrGoexit, suite.Name(cfg))
			assert.ErrorContains(t, err, "and workers end only when", suite.Name(cfg))
		}()
	}
	all := make(chan struct{})
	go func() { made.Wait(); close(all) }()
	select {
	case <-all:
	case <-time.After(schedtest.Standstill):
		t.Errorf("New has not returned for %v", schedtest.Standstill)
	}
	close(never)
	<-all
	left.Wait()
	assert.Eventually(
		t, func() bool { return fiber.ReadStats().Roots == roots }, schedtest.Standstill, time.Millisecond,
	)
}
