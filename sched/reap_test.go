package sched

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
)

// Fibers that end are closed while their worker's lock is free, and many at a time: when their
// worker keeps no more idle ones, and when it ends. In between the worker still notices others.
func TestEndedFibersAreClosedWithoutTheLock(t *testing.T) {
	const fibers = 3*mostEnded + 7
	defer func() { closeFibers = fiber.CloseAll }()
	for _, b := range fiber.Backends() {
		for _, maxIdle := range []int{1, fibers + 1} {
			var mu sync.Mutex
			var calls, closed int
			closeFibers = func(list ...*fiber.Fiber) error {
				mu.Lock()
				defer mu.Unlock()
				calls++
				closed += len(list)
				assert.LessOrEqual(t, len(list), mostEnded)
				l := &Current().worker.work.workLock
				if assert.True(t, l.tryLock(), "the worker's lock is held while fibers are closed") {
					l.unlock()
				}
				return fiber.CloseAll(list...)
			}
			s, err := New(Config{Workers: 1, Backend: b, MaxIdle: maxIdle})
			require.NoError(t, err)
			flags := make([]*flag, fibers)
			for i := range flags {
				flags[i] = newFlag()
				require.NoError(t, s.Enqueue(Task{Func: flags[i].await}))
			}
			require.NoError(t, s.Enqueue(Task{Func: func() {
				for _, f := range flags {
					f.raise()
				}
			}}))
			require.NoError(t, s.Close())
			assert.EqualValues(t, s.Stats().Made, closed, "%v, at most %d idle", b, maxIdle)
			assert.Greater(t, closed, fibers-1)
			assert.LessOrEqual(t, calls, 2*(fibers/mostEnded+1), "%v: one by one", b)
		}
	}
}
