package fibersync_test

import (
	"runtime"
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

// eachCaller calls test on a goroutine, in a task of s, and in a task of another scheduler.
func eachCaller(t *testing.T, s *sched.Scheduler, test func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		test()
	}()
	<-done
	schedtest.Perform(t, s, test)
	other, err := sched.New(sched.Config{Workers: 1})
	require.NoError(t, err)
	defer func() { assert.NoError(t, other.Close()) }()
	schedtest.Perform(t, other, test)
}

// What is started on a scheduler runs there, even if the caller has another one.
func TestOnChoosesTheScheduler(t *testing.T) {
	suite.EachScheduler(t, []int{1, 2}, func(t *testing.T, s *sched.Scheduler) {
		eachCaller(t, s, func() {
			var there atomic.Int64
			f := func() {
				if sched.Get() == s {
					there.Add(1)
				}
			}
			assert.NoError(t, fibersync.On(s, func() {
				f()
				fibersync.Parallelize(f, f, f)
			}))
			var g fibersync.WaitGroup
			g.GoOn(s, f)
			g.Wait()
			_, err := fibersync.AsyncOn(s, func() (int, error) {
				f()
				return 1, nil
			}).Get()
			assert.NoError(t, err)
			assert.EqualValues(t, 6, there.Load(), "calls on the scheduler")
		})
	})
}

func TestOnPassesAPanicOn(t *testing.T) {
	suite.EachScheduler(t, []int{1, 2}, func(t *testing.T, s *sched.Scheduler) {
		eachCaller(t, s, func() {
			check.PanicsWith(t, errCause, func() { _ = fibersync.On(s, func() { panic(errCause) }) })
			defer func() {
				var p *fibersync.PanicError
				if err, _ := recover().(error); assert.ErrorAs(t, err, &p) {
					assert.Contains(t, string(p.Stack), "TestOnPassesAPanicOn", "the stack of the panic")
				}
			}()
			_ = fibersync.On(s, func() { panic(errCause) })
		})
	})
}

// A scheduler that takes no task says so, and the function is not called.
func TestOnAClosedScheduler(t *testing.T) {
	s, err := sched.New(sched.Config{Workers: 1})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	assert.ErrorIs(t, fibersync.On(s, runtime.Goexit), sched.ErrClosed)
	_, err = fibersync.AsyncOn(s, func() (int, error) { return 1, nil }).Get()
	assert.ErrorIs(t, err, sched.ErrClosed)
	var g fibersync.WaitGroup
	check.PanicsWith(t, sched.ErrClosed, func() { g.GoOn(s, func() {}) })
	g.Wait()
}

func TestOnMisuse(t *testing.T) {
	nothing := func() {}
	check.PanicsWith(t, fibersync.ErrNilScheduler, func() { _ = fibersync.On(nil, nothing) })
	check.PanicsWith(
		t, fibersync.ErrNilScheduler, func() { fibersync.AsyncOn[int](nil, func() (int, error) { return 1, nil }) },
	)
	var g fibersync.WaitGroup
	check.PanicsWith(t, fibersync.ErrNilScheduler, func() { g.GoOn(nil, nothing) })
	s, err := sched.New(sched.Config{Workers: 1})
	require.NoError(t, err)
	defer func() { assert.NoError(t, s.Close()) }()
	check.PanicsWith(t, fibersync.ErrNilFunc, func() { _ = fibersync.On(s, nil) })
	check.PanicsWith(t, fibersync.ErrNilFunc, func() { fibersync.AsyncOn[int](s, nil) })
	check.PanicsWith(t, fibersync.ErrNilFunc, func() { g.GoOn(s, nil) })
	g.Wait()
}

// A function that is missing is named before any other is called.
func TestNoFunctionIsFoundBeforeAnyIsCalled(t *testing.T) {
	called := func() { assert.Fail(t, "a function was called") }
	var g fibersync.WaitGroup
	var once fibersync.Once
	for name, f := range map[string]func(){
		"Parallelize":  func() { fibersync.Parallelize(called, nil) },
		"Once":         func() { once.Do(nil) },
		"WaitGroup.Go": func() { g.Go(nil) },
		"BlockingCall": func() { fibersync.BlockingCall(nil) },
		"Call":         func() { _, _ = fibersync.Call[int](nil) },
	} {
		t.Run(name, func(t *testing.T) { check.PanicsWith(t, fibersync.ErrNilFunc, f) })
	}
	g.Wait()
	done := false
	once.Do(func() { done = true })
	assert.True(t, done, "the Once that was given no function counts as called")
}
