package tests

import (
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

// A coroutine of iter.Pull runs on behalf of the task that asks it for values: what it waits for, the
// task waits for, on whichever fiber of the worker it runs.
func TestTasksWaitInPull(t *testing.T) {
	eachConfig(t, anyWorkers, func(t *testing.T, cfg sched.Config) {
		onScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			n := scaled(30, 8)
			const values = 4
			over := newLatch(n)
			var m fibersync.Mutex
			for range n {
				schedule(t, s, func() {
					defer over.done()
					f := sched.Current()
					next, stop := iter.Pull(func(yield func(int) bool) {
						for i := range values {
							assert.Same(t, f, sched.Current())
							sched.Yield()
							m.Lock()
							sched.Yield() // so that others find it locked
							m.Unlock()
							sched.Sleep(50 * time.Microsecond)
							assert.Same(t, f, sched.Current())
							if !yield(i) {
								return
							}
						}
					})
					defer stop()
					for i := range values {
						sched.Yield()
						v, ok := next()
						assert.Equal(t, i, v)
						assert.True(t, ok)
					}
					_, ok := next()
					assert.False(t, ok)
				})
			}
			over.wait()
		})
	})
}

// A goroutine that is bound to a scheduler waits as a fiber in what it pulls, too.
func TestBoundGoroutineWaitsInPull(t *testing.T) {
	eachScheduler(t, []int{0}, func(t *testing.T, s *sched.Scheduler) {
		ran := 0
		next, stop := iter.Pull(func(yield func(int) bool) {
			schedule(t, s, func() { ran++ })
			sched.Yield()
			yield(ran)
		})
		defer stop()
		v, _ := next()
		assert.Equal(t, 1, v, "tasks that ran while the goroutine had yielded")
	})
}

// Where a root is locked to its thread before it attaches, so are its coroutines: each may switch from
// within what it pulls. The others that run meanwhile may pull as well.
func TestSwitchInPull(t *testing.T) {
	eachBackend(t, func(t *testing.T, b fiber.Backend) {
		require.NoError(t, onLockedGoroutine(func() {
			root, err := fiber.Attach(b)
			if !assert.NoError(t, err) {
				return
			}
			const n, values = 5, 6
			sums := make([]int, n)
			fibers := make([]*fiber.Fiber, n)
			for i := range fibers {
				fibers[i] = newFiber(t, b, "pulls", func() {
					next, stop := iter.Pull(func(yield func(int) bool) {
						for v := range values {
							assert.Same(t, fibers[i], fiber.Current())
							assert.True(t, fibers[i].IsCurrent())
							assert.False(t, root.IsCurrent())
							if j := (i + 1) % n; fibers[j].State() == fiber.Ready || fibers[j].State() == fiber.Suspended {
								leave(t, fibers[j])
							} else {
								leave(t, root)
							}
							if !yield(v) {
								return
							}
						}
					})
					defer stop()
					for v, ok := next(); ok; v, ok = next() {
						sums[i] += v
						leave(t, root)
					}
				})
			}
			for _, f := range fibers {
				for f.State() != fiber.Finished {
					assert.NoError(t, root.SwitchTo(f))
					assert.Same(t, root, fiber.Current())
				}
			}
			for i, f := range fibers {
				assert.Equal(t, values*(values-1)/2, sums[i])
				assert.NoError(t, f.Close())
			}
			assert.NoError(t, root.Detach())
		}))
	})
}

var pullElsewhere = newChild("pull elsewhere", func(t childT, b fiber.Backend) {
	root, err := fiber.Attach(b)
	require.NoError(t, err)
	var next func() (int, bool)
	made := make(chan struct{}, 1)
	maker, err := fiber.New(fiber.Config{Backend: b}, func() {
		next, _ = iter.Pull(func(yield func(int) bool) {
			for i := 1; yield(i); i++ {
			}
		})
		made <- struct{}{}
	})
	require.NoError(t, err)
	other, err := fiber.New(fiber.Config{Backend: b}, func() {
		for want := 1; want < 4; want++ {
			v, ok := next()
			require.True(t, ok)
			require.Equal(t, want, v)
		}
	})
	require.NoError(t, err)
	require.NoError(t, root.SwitchTo(maker))
	<-made
	require.NoError(t, root.SwitchTo(other))
})

// What README says of a coroutine of iter.Pull that one fiber has made and another asks for values.
func TestPullElsewhere(t *testing.T) {
	eachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		require.Contains(t, runChildCrash(t, pullElsewhere, b), "coro: OS thread locking must match")
	})
	runChildOK(t, pullElsewhere, fiber.Goroutine)
}
