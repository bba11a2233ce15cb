package tests

import (
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
)

// callEach calls each method of v with zero values. It may return, or panic with an error that
// says what is wrong; a fault of the runtime is none.
func callEach(t *testing.T, v any, except ...string) {
	methods := reflect.TypeOf(v)
	for i := range methods.NumMethod() {
		m := methods.Method(i)
		if slices.Contains(except, m.Name) {
			continue
		}
		arguments := []reflect.Value{reflect.ValueOf(v)}
		for j := 1; j < m.Type.NumIn(); j++ {
			arguments = append(arguments, reflect.Zero(m.Type.In(j)))
		}
		func() {
			defer func() {
				r := recover()
				_, fault := r.(runtime.Error)
				_, clear := r.(error)
				assert.True(t, r == nil || clear && !fault, "%v.%s panics with: %v", methods, m.Name, r)
			}()
			m.Func.Call(arguments)
		}()
	}
}

// No call on a fiber that was never made ends in a nil dereference, whoever makes it.
func TestZeroFiberIsRefused(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		all := func() {
			callEach(t, new(fiber.Fiber))
			callEach(t, (*fiber.Fiber)(nil))
		}
		all()
		f := newFiber(t, root.Backend(), "caller", all)
		enter(t, root, f)
		finish(t, f)
		requireWorks(t, root)
		zero := new(fiber.Fiber)
		require.Equal(t, fiber.Closed, zero.State())
		require.Nil(t, zero.Value())
		requireError(t, zero.Close(), fiber.ErrNotMade, "close", "")
		requireError(t, zero.Detach(), fiber.ErrNotMade, "detach", "")
	})
}

func TestZeroFiberOfAScheduler(t *testing.T) {
	eachScheduler(t, oneThread, func(t *testing.T, s *sched.Scheduler) {
		all := func() {
			callEach(t, new(sched.Fiber))
			callEach(t, (*sched.Fiber)(nil), "LocalSlot", "WaiterSlot") // which are addresses in it
		}
		all()
		perform(t, s, all)
		zero := new(sched.Fiber)
		assert.Equal(t, sched.Idle, zero.State())
		assert.Nil(t, zero.Worker())
		assert.Equal(t, "no fiber", zero.String())
		panicsWith(t, sched.ErrNotMade, zero.Notify)
		panicsWith(t, sched.ErrNotMade, zero.Unpark)
		panicsWith(t, sched.ErrNotMade, func() { zero.Wait(nil, nil) })
		assert.ErrorIs(t, zero.Start(func() {}), sched.ErrNotMade)
	})
}
