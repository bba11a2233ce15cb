package sched_test

import (
	"context"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/check"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// A Scheduler that New has not made, and a Worker that belongs to none, say so in every method.
func TestNilAndZeroScheduler(t *testing.T) {
	all := func() {
		for _, s := range []*sched.Scheduler{nil, new(sched.Scheduler)} {
			assertNotBound(t, s)
			assert.Zero(t, s.Stats())
			_, open := <-s.Done()
			assert.False(t, open)
			assert.ErrorIs(t, s.CloseContext(context.Background()), sched.ErrNotBound)
			assert.ErrorIs(t, fibersync.On(s, func() {}), sched.ErrNotBound)
			_, err := fibersync.AsyncOn(s, func() (int, error) { return 1, nil }).Get()
			assert.ErrorIs(t, err, sched.ErrNotBound)
		}
		for _, w := range []*sched.Worker{nil, new(sched.Worker)} {
			check.CallEachMethod(t, w)
			assert.Equal(t, -1, w.ID())
			assert.Equal(t, -1, w.Group())
			assert.Equal(t, "no worker", w.String())
			assert.Nil(t, w.Device())
		}
	}
	all()
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) { schedtest.Perform(t, s, all) })
}

// assertNotBound calls each method of s with zero values: those that return an error return ErrNotBound.
func assertNotBound(t *testing.T, s *sched.Scheduler) {
	for i, methods := 0, reflect.TypeOf(s); i < methods.NumMethod(); i++ {
		m := methods.Method(i)
		arguments := []reflect.Value{reflect.ValueOf(s)}
		for j := 1; j < m.Type.NumIn(); j++ {
			arguments = append(arguments, reflect.Zero(m.Type.In(j)))
		}
		call := m.Func.Call
		if m.Type.IsVariadic() {
			call = m.Func.CallSlice
		}
		results := call(arguments)
		if last := len(results) - 1; m.Type.Out(last) == reflect.TypeFor[error]() {
			err, _ := results[last].Interface().(error)
			assert.ErrorIs(t, err, sched.ErrNotBound, m.Name)
		}
	}
}

// A goroutine that a task starts is outside of the task: what sched.Get returns there accepts no task.
func TestGoroutineOfATaskIsOutside(t *testing.T) {
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
		schedtest.Perform(t, s, func() {
			told := make(chan error, 1)
			go func() { told <- sched.Get().Go(func() {}) }()
			err := <-told
			assert.ErrorIs(t, err, sched.ErrNotBound)
			assert.ErrorContains(t, err, "keep what sched.Get returns there for other goroutines")
		})
	})
}

// The number of workers is bounded over all schedulers of the program, before any thread is made.
func TestTooManyWorkers(t *testing.T) {
	s, err := sched.New(sched.Config{Workers: 20000})
	require.ErrorIs(t, err, sched.ErrWorkers)
	require.Nil(t, s)
	require.ErrorContains(t, err, "Config.Workers is 20000")

	one, err := sched.New(sched.Config{Workers: 1})
	require.NoError(t, err)
	for range 2 { // what was refused is not counted
		_, err = sched.New(sched.Config{Workers: sched.MaxWorkers})
		require.ErrorIs(t, err, sched.ErrWorkers)
	}
	require.NoError(t, one.Close())

	several, err := sched.New(sched.Config{Workers: 3}) // what was closed is not counted either
	require.NoError(t, err)
	require.NoError(t, several.Close())
}

// A New that ends by a panic of the program's own function leaves no workers counted, and one that is refused does not
// keep others from theirs.
func TestWorkersAreCountedOnce(t *testing.T) {
	for range 2 {
		assert.PanicsWithValue(t, "no", func() {
			_, _ = sched.New(sched.Config{Workers: sched.MaxWorkers / 2, Policy: sched.Group, Groups: sched.Groups{
				StealEvery: func(int, int) int { panic("no") }}})
		})
	}
	one, err := sched.New(sched.Config{Workers: 1})
	require.NoError(t, err)
	var over atomic.Bool
	var refused sync.WaitGroup
	refused.Add(1)
	go func() {
		defer refused.Done()
		for !over.Load() {
			_, err := sched.New(sched.Config{Workers: sched.MaxWorkers})
			assert.ErrorIs(t, err, sched.ErrWorkers)
		}
	}()
	for range 1000 {
		s, err := sched.New(sched.Config{Workers: 1})
		if !assert.NoError(t, err) {
			break
		}
		assert.NoError(t, s.Close())
	}
	over.Store(true)
	refused.Wait()
	require.NoError(t, one.Close())
}
