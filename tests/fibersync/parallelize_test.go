package fibersync_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/check"
	"fiberlab/tests/internal/crash"
	"fiberlab/tests/internal/leaks"
	"fiberlab/tests/internal/suite"
)

func TestParallelizeCallsEachOnce(t *testing.T) {
	eachCompany(t, func(c *company) {
		for _, n := range []int{0, 1, 2, 7, 40} {
			c.start(func() {
				me, mine := fiber.Self(), sched.Get()
				calls := make([]atomic.Int64, n)
				var own atomic.Int64
				fs := make([]func(), n)
				for i := range fs {
					fs[i] = func() {
						assert.Same(c.t, mine, sched.Get())
						if i%3 == 0 {
							pause()
						}
						if fiber.Self() == me {
							own.Add(1)
						}
						calls[i].Add(1)
					}
				}
				fibersync.Parallelize(fs...)
				for i := range calls {
					assert.EqualValues(c.t, 1, calls[i].Load(), "function %d of %d", i, n)
				}
				assert.Equal(c.t, n > 0, own.Load() > 0, "the caller calls some itself")
			})
		}
	})
}

// No function can return before all have begun.
func TestParallelizedMayWaitForOneAnother(t *testing.T) {
	eachCompany(t, func(c *company) {
		for range 3 {
			c.start(func() { meetInFork(10) })
		}
	})
}

// sum adds the numbers from low to high-1 in forks of two and three. Some wait in between.
func sum(low, high int) int {
	switch high - low {
	case 0:
		return 0
	case 1:
		if low%5 == 0 {
			pause()
		}
		return low
	}
	third := (high - low + 2) / 3
	parts := [3]int{}
	fibersync.Parallelize(
		func() { parts[0] = sum(low, low+third) },
		func() { parts[1] = sum(low+third, min(low+2*third, high)) },
		func() { parts[2] = sum(min(low+2*third, high), high) },
	)
	return parts[0] + parts[1] + parts[2]
}

func TestParallelizeNests(t *testing.T) {
	eachCompany(t, func(c *company) {
		n := suite.Scaled(150, 40)
		for range 3 {
			c.start(func() { assert.Equal(c.t, n*(n-1)/2, sum(0, n)) })
		}
		assert.Equal(c.t, n*(n-1)/2, sum(0, n))
	})
}

// The other functions are not disturbed, and the panics come in the order of the functions.
func TestParallelizePassesPanicsOn(t *testing.T) {
	eachCompany(t, func(c *company) {
		for range 2 {
			c.start(func() {
				var returned atomic.Int64
				good := func() {
					pause()
					returned.Add(1)
				}
				bad := func() { crash.PanicWith("first") }
				nested := func() { fibersync.Parallelize(good, func() { crash.PanicWith(errFuture) }, good) }
				value := recovered(func() { fibersync.Parallelize(good, bad, good, nested, good) })
				assert.EqualValues(c.t, 5, returned.Load())
				requirePanic(c.t, "first", value)
				err := value.(error)
				assert.ErrorIs(c.t, err, errFuture)
				each := err.(interface{ Unwrap() []error }).Unwrap()
				if assert.Len(c.t, each, 2) {
					requirePanic(c.t, "first", each[0])
					requirePanic(c.t, errFuture, each[1])
				}
			})
		}
	})
}

// Two functions that have met are not both the caller's.
func TestParallelizeGoexitOnGoroutines(t *testing.T) {
	leaks.Check(t)
	met := fibersync.NewLatch(2)
	me := fiber.Self()
	exit := func(mine bool) func() {
		return func() {
			met.CountDown()
			met.Wait()
			if (fiber.Self() == me) == mine {
				runtime.Goexit()
			}
			pause()
		}
	}
	check.PanicsWith(t, fibersync.ErrGoexit, func() { fibersync.Parallelize(exit(false), exit(false)) })

	met = fibersync.NewLatch(2)
	var after, returned atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		me = fiber.Self()
		fibersync.Parallelize(exit(true), func() {
			exit(true)()
			after.Store(true)
		})
		returned.Store(true)
	}()
	<-ended
	assert.False(t, returned.Load(), "the caller's own Goexit ends it")
	assert.True(t, after.Load(), "the caller has not waited for the other function")
}

// A Goexit of the caller does not hide that a deferred function has panicked on its way.
func TestParallelizeGoexitHidesNoPanic(t *testing.T) {
	leaks.Check(t)
	f := func() {
		defer func() { panic(errFuture) }()
		runtime.Goexit()
	}
	for _, fs := range [][]func(){{f}, {func() {}, f}} {
		for range 20 { // the caller calls the last one, or a helper
			value := make(chan any, 1)
			go func() {
				defer func() { value <- recover() }()
				fibersync.Parallelize(fs...)
			}()
			err, _ := (<-value).(error)
			assert.ErrorIs(t, err, errFuture)
		}
	}
}
