package tests

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/tests/trapbody"
)

// deep calls f through so many C functions that call Go.
func deep(depth int, f func()) {
	if depth == 0 {
		f()
		return
	}
	trapbody.Call(func() { deep(depth-1, f) })
}

// Go functions that C has called switch as others do: to fresh fibers, to ones that are in such a
// function themselves, to ones that are not, and to the root, which may be in one too.
func TestSwitchInCallbacks(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		random := newRand(t)
		const n, rounds = 8, 40
		fibers := make([]*fiber.Fiber, n)
		entered := make([]int, n)
		next := func(self int) *fiber.Fiber {
			for {
				i := random.IntN(n + 1)
				if i == n {
					return root
				}
				if s := fibers[i].State(); i != self && (s == fiber.Ready || s == fiber.Suspended) {
					return fibers[i]
				}
				if random.IntN(4) == 0 {
					return root
				}
			}
		}
		for i := range fibers {
			fibers[i] = newFiber(t, root.Backend(), "called", func() {
				for range rounds {
					deep(random.IntN(4), func() {
						for range 1 + random.IntN(3) {
							assert.Same(t, fibers[i], fiber.Current())
							leave(t, next(i))
							assert.Same(t, fibers[i], fiber.Current())
						}
					})
					entered[i]++
				}
			})
		}
		for _, f := range fibers {
			for f.State() != fiber.Finished {
				deep(random.IntN(3), func() { enter(t, root, f) })
				require.Same(t, root, fiber.Current())
			}
		}
		for i := range fibers {
			assert.Equal(t, rounds, entered[i])
		}
		finish(t, fibers...)
		requireWorks(t, root)
	})
}

// A fiber that is in a callback goes on on another root, where that can be: its C frames stay on
// the thread that they are on, or move with the fiber's stack.
func TestCallbackMovesToAnotherRoot(t *testing.T) {
	eachBackend(t, func(t *testing.T, b fiber.Backend) {
		turns := 0
		f := newFiber(t, b, "mover", func() {
			for range 10 {
				deep(2, func() {
					turns++
					leave(t, fiber.Current().Value().(*fiber.Fiber))
				})
			}
		})
		for f.State() != fiber.Finished {
			another(t, b, func(root *fiber.Fiber) {
				f.SetValue(root)
				assert.NoError(t, root.SwitchTo(f))
			})
		}
		assert.Equal(t, 10, turns)
		finish(t, f)
	})
}

// A body may lock its thread, and need not unlock it; the next body is not locked by that.
func TestSwitchWhileLocked(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		for range 3 {
			f := newFiber(t, root.Backend(), "locked", func() {
				runtime.LockOSThread()
				runtime.LockOSThread()
				leave(t, root)
				runtime.UnlockOSThread()
				leave(t, root)
			})
			for f.State() != fiber.Finished {
				runtime.LockOSThread()
				enter(t, root, f)
				runtime.UnlockOSThread()
			}
			finish(t, f)
			requireWorks(t, root)
		}
	})
}

// Where a thread belongs to a root that is locked to it, a coroutine cannot leave it to another one
// while C has frames there. It is told so, and goes on.
func TestSwitchInCallbackOnLockedRoot(t *testing.T) {
	noLeaks(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	onRoot(t, fiber.Goroutine, func(t *testing.T, root *fiber.Fiber) {
		f := newFiber(t, fiber.Goroutine, "called", func() {
			leave(t, root)
			deep(1, func() { assert.ErrorIs(t, fiber.Current().SwitchTo(root), fiber.ErrLocked) })
			runtime.LockOSThread()
			assert.ErrorIs(t, fiber.Current().SwitchTo(root), fiber.ErrLocked)
			runtime.UnlockOSThread()
			leave(t, root)
			runtime.LockOSThread() // ends with the body
		})
		enter(t, root, f)
		deep(1, func() { requireError(t, root.SwitchTo(f), fiber.ErrLocked, "switch", "called") })
		require.Equal(t, fiber.Suspended, f.State())
		enter(t, root, f)
		enter(t, root, f)
		finish(t, f)
		requireWorks(t, root)
	})
}

// Tasks wait and yield in callbacks from C. On the goroutine backend their worker waits with them,
// and says so.
func TestTasksWaitInCallbacks(t *testing.T) {
	eachConfig(t, []int{1, 2, 4}, func(t *testing.T, cfg sched.Config) {
		var told journal[error]
		cfg.Exhausted = told.add
		onScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			n := scaled(40, 10)
			over := newLatch(2 * n)
			var mu sync.Mutex
			for range n {
				schedule(t, s, func() {
					defer over.done()
					deep(2, func() {
						sched.Yield()
						sched.Sleep(100 * time.Microsecond)
						mu.Lock()
						defer mu.Unlock()
						assert.False(t, sched.Current().WaitFor(&mu, time.Millisecond, func() bool { return false }))
					})
				})
				schedule(t, s, func() {
					defer over.done()
					sched.Yield()
					deep(1, sched.Yield)
					f := sched.Current()
					woken := false
					deep(1, func() {
						go func() {
							mu.Lock()
							defer mu.Unlock()
							woken = true
							f.Notify()
						}()
						mu.Lock()
						defer mu.Unlock()
						f.Wait(&mu, func() bool { return woken })
					})
					assert.Same(t, f, sched.Current())
				})
			}
			over.wait()
		})
		for _, err := range told.all() {
			assert.Equal(t, fiber.Goroutine, cfg.Backend)
			assert.ErrorIs(t, err, fiber.ErrLocked)
		}
	})
}
