package fibersync_test

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/check"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// Each task does what it likes with some variables, next to a map that does the same, while others
// of the same fibers and workers do so too.
func TestLocalIsEachTasksOwn(t *testing.T) {
	eachCompany(t, func(c *company) {
		var vars [5]fibersync.Local[int]
		var text fibersync.Local[string]
		rng := suite.NewRand(c.t)
		for range 40 {
			seed := rng.Uint64()
			c.task(func() {
				if c.s == nil {
					return
				}
				_, set := text.Get()
				assert.False(c.t, set, "left by another task")
				text.Set("its type")
				localAgainstMap(c.t, rand.New(rand.NewPCG(seed, 0)), &vars)
				v, _ := text.Get()
				assert.Equal(c.t, "its type", v)
			})
		}
	})
}

func localAgainstMap(t *testing.T, rng *rand.Rand, vars *[5]fibersync.Local[int]) {
	model := make(map[int]int)
	for range 30 {
		i, v := rng.IntN(len(vars)), rng.Int()
		switch rng.IntN(4) {
		case 0:
			vars[i].Set(v)
			model[i] = v
		case 1:
			vars[i].Delete()
			delete(model, i)
		case 2:
			sched.Yield()
		}
		got, ok := vars[i].Get()
		want, set := model[i]
		assert.Equal(t, set, ok)
		assert.Equal(t, want, got)
	}
}

// A task's values go when it ends, however it ends, although its fiber lives on.
func TestLocalEndsWithItsTask(t *testing.T) {
	suite.EachConfig(t, mixedWorkers(), func(t *testing.T, cfg sched.Config) {
		var panics atomic.Int64
		cfg.Panicked = func(any, []byte) { panics.Add(1) }
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			const tasks = 60
			var held fibersync.Local[*[1000]byte]
			var sets, stays atomic.Int64
			values := make([]weak.Pointer[[1000]byte], tasks)
			over := schedtest.NewLatch(tasks)
			for i := range tasks {
				schedtest.Schedule(t, s, func() {
					defer over.Done()
					if _, ok := held.Get(); ok {
						stays.Add(1)
					}
					v := new([1000]byte)
					values[i] = weak.Make(v)
					held.Set(v)
					sets.Add(1)
					if i%3 == 0 {
						sched.Yield()
					}
					if i%4 == 0 {
						panic("the end of this task")
					}
				})
			}
			over.Wait()
			// A task does its last things after what it tells us; then its worker begins another.
			schedtest.HoldWorkers(t, s, cfg.Workers, func(int) {})
			assert.EqualValues(t, tasks/4, panics.Load())
			assert.EqualValues(t, tasks, sets.Load())
			assert.Zero(t, stays.Load(), "tasks that began with another one's value")
			left := localHeld(values)
			for tries := 0; left > 0 && tries < 20; tries++ {
				left = localHeld(values)
			}
			assert.Zero(t, left, "values that are held although their tasks have ended")
		})
	})
}

// localHeld collects garbage and returns how many of those are still held. What a thread that is
// interrupted in mid-function has left in its registers may count as a pointer, in one collection or two.
func localHeld(values []weak.Pointer[[1000]byte]) int {
	runtime.GC()
	held := 0
	for _, v := range values {
		if v.Value() != nil {
			held++
		}
	}
	return held
}

func TestLocalOfABoundGoroutine(t *testing.T) {
	suite.EachConfig(t, suite.OneThread[:1], func(t *testing.T, cfg sched.Config) {
		s, err := sched.New(cfg)
		require.NoError(t, err)
		var own fibersync.Local[string]
		require.NoError(t, s.Bind())
		own.Set("the binder's")
		schedtest.Perform(t, s, func() {
			_, ok := own.Get()
			assert.False(t, ok, "a task sees what its starter has set")
			own.Set("the task's")
		})
		v, ok := own.Get()
		assert.True(t, ok)
		assert.Equal(t, "the binder's", v)
		require.NoError(t, sched.Unbind())
		_, ok = own.Get()
		assert.False(t, ok, "it outlives Unbind")
		require.NoError(t, s.Bind())
		_, ok = own.Get()
		assert.False(t, ok, "it comes back with the next Bind")
		require.NoError(t, sched.Unbind())
		require.NoError(t, s.Close())
	})
}

func TestLocalOnAPlainGoroutine(t *testing.T) {
	var own fibersync.Local[int]
	check.PanicsWith(t, fibersync.ErrNoFiber, func() { own.Set(1) })
	_, ok := own.Get()
	assert.False(t, ok)
	own.Delete()
}
