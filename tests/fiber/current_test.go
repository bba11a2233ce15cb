package fiber_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/tests/internal/cbody"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/leaks"
	"fiberlab/tests/internal/suite"
)

func TestCurrentOfPlainGoroutine(t *testing.T) {
	leaks.Check(t)
	require.Nil(t, fiber.Current())
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	require.Nil(t, fiber.Current())
	require.Nil(t, cbody.Current())
}

func TestCurrent(t *testing.T) {
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		require.Nil(t, fiber.Current())
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			require.Same(t, root, fiber.Current())
			fibers := make([]*fiber.Fiber, 10)
			for i := range fibers {
				fibers[i] = fibertest.New(t, b, "f", func() {
					assert.Same(t, fibers[i], fiber.Current())
					assert.True(t, fibers[i].IsCurrent())
					assert.False(t, root.IsCurrent())
					if i > 0 {
						fibertest.Leave(t, fibers[i-1])
					} else {
						fibertest.Leave(t, root)
					}
					assert.Same(t, fibers[i], fiber.Current())
				})
			}
			require.False(t, fibers[9].IsCurrent(), "it has not been entered")
			fibertest.Enter(t, root, fibers[9])
			require.Same(t, root, fiber.Current())
			require.True(t, root.IsCurrent())
			require.False(t, fibers[9].IsCurrent())
			for _, f := range fibers {
				fibertest.Enter(t, root, f)
				require.Same(t, root, fiber.Current())
			}
			elsewhere := make(chan bool)
			go func() { elsewhere <- root.IsCurrent() || fibers[9].IsCurrent() }()
			require.False(t, <-elsewhere)
			fibertest.Finish(t, fibers...)
			require.False(t, fibers[9].IsCurrent(), "it has been closed")
		})
		require.Nil(t, fiber.Current())
		require.Nil(t, cbody.Current())
		require.False(t, new(fiber.Fiber).IsCurrent())
		require.False(t, (*fiber.Fiber)(nil).IsCurrent())
	})
}

// Goroutines are fibers only if they attach, even if a fiber has started them.
func TestCurrentOfGoroutineStartedByFiber(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		inside := func() {
			var all sync.WaitGroup
			for range 8 {
				all.Add(1)
				go func() {
					defer all.Done()
					for range 100 {
						assert.Nil(t, fiber.Current())
						runtime.Gosched()
					}
				}()
			}
			all.Wait()
		}
		inside()
		f := fibertest.New(t, root.Backend(), "f", func() {
			inside()
			fibertest.Leave(t, root)
			inside()
		})
		fibertest.Enter(t, root, f)
		fibertest.Enter(t, root, f)
		fibertest.Finish(t, f)
	})
}

// A thread that was a root's and is a plain goroutine's now has no current fiber.
func TestCurrentAfterDetach(t *testing.T) {
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for range 100 {
			fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
				require.Same(t, root, fiber.Current())
			})
			require.Nil(t, fiber.Current())
			require.Nil(t, cbody.Current())
		}
	})
}

// A root that unlocks itself, as none should, loses its thread to others. Current still tells the right fiber.
func TestCurrentOnTheThreadOfARootThatUnlockedItself(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that the thread goes to the goroutine that is begun next
		detached := make(chan struct{})
		defer close(detached)
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			home := unix.Gettid()
			runtime.UnlockOSThread()
			over := make(chan struct{})
			go func() {
				defer close(over)
				assert.Nil(t, fiber.Current())
				assert.False(t, root.IsCurrent())
				other, err := fiber.Attach(fiber.Goroutine)
				if assert.NoError(t, err) {
					assert.Same(t, other, fiber.Current())
					assert.True(t, other.IsCurrent())
					assert.NoError(t, other.Detach())
				}
			}()
			<-over
			for unix.Gettid() != home { // the thread it is on is kept by another, until only that one is left
				go func() {
					runtime.LockOSThread()
					defer runtime.UnlockOSThread()
					if unix.Gettid() != home {
						<-detached
					}
				}()
				runtime.Gosched()
			}
			runtime.LockOSThread()
			require.Same(t, root, fiber.Current())
		})
	})
}

// So does one that was locked before it attached to the goroutine backend.
func TestCurrentOnTheThreadOfALockedRootThatUnlockedItself(t *testing.T) {
	leaks.Check(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that the thread goes to the goroutine that is begun next
	runtime.LockOSThread()
	fibertest.OnRoot(t, fiber.Goroutine, func(t *testing.T, root *fiber.Fiber) {
		home := unix.Gettid()
		f := fibertest.New(t, fiber.Goroutine, "f", func() {})
		runtime.UnlockOSThread()
		require.ErrorIs(t, root.SwitchTo(f), fiber.ErrLocked)
		runtime.UnlockOSThread() // as often as it is locked
		requirePlain := func() {
			assert.Nil(t, fiber.Current())
			assert.False(t, root.IsCurrent())
			assert.ErrorIs(t, root.SwitchTo(f), fiber.ErrNoFiber)
			other, err := fiber.Attach(fiber.Goroutine)
			if assert.NoError(t, err) {
				assert.Same(t, other, fiber.Current())
				assert.NoError(t, other.Detach())
			}
		}
		came := make(chan bool)
		for there := false; !there; there = <-came {
			go func() {
				cbody.CallGo(requirePlain)
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				requirePlain()
				came <- unix.Gettid() == home
			}()
		}
		require.Same(t, root, fiber.Current())
		require.NoError(t, f.Close())
	})
}

func TestCurrentInNestedCallback(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			cbody.CallGo(func() { assert.Same(t, root, fiber.Current()) })
			fibers := make([]*fiber.Fiber, 5)
			for i := range fibers {
				fibers[i] = fibertest.New(t, b, "nested", func() {
					cbody.CallGo(func() {
						assert.Same(t, fibers[i], fiber.Current())
						fibertest.Leave(t, root)
						cbody.CallGo(func() { assert.Same(t, fibers[i], fiber.Current()) })
						assert.Equal(t, fibers[i].Handle(), cbody.Current())
					})
				})
			}
			for range 2 {
				for _, f := range fibers {
					fibertest.Enter(t, root, f)
					require.Equal(t, root.Handle(), cbody.Current())
				}
			}
			fibertest.Finish(t, fibers...)
		})
	})
}

func TestCurrentAndSwitchDoNotAllocate(t *testing.T) {
	if suite.RaceDetector || suite.AddressSanitizer {
		t.Skip("the race detector and AddressSanitizer allocate")
	}
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		stop := false
		inside := 0.0
		f := fibertest.New(t, root.Backend(), "f", func() {
			me := fiber.Current()
			inside = testing.AllocsPerRun(100, func() {
				if fiber.Current() != me {
					t.Error("wrong fiber")
				}
			})
			for !stop && me.SwitchTo(root) == nil {
			}
		})
		fibertest.Enter(t, root, f)
		require.Zero(t, inside)
		require.Zero(t, testing.AllocsPerRun(100, func() {
			if fiber.Current() != root {
				t.Error("wrong fiber")
			}
		}))
		require.Zero(t, testing.AllocsPerRun(1000, func() {
			if err := root.SwitchTo(f); err != nil {
				t.Error(err)
			}
		}))
		stop = true
		fibertest.Enter(t, root, f)
		fibertest.Finish(t, f)
	})
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if fiber.Current() != nil {
			t.Error("wrong fiber")
		}
	}))
}
