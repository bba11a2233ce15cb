package tests

import (
	"errors"
	"math"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/stack"
	"fiberlab/tests/cbody"
)

// requireError demands an *Error that wraps want and names operation and fiber.
func requireError(t *testing.T, err, want error, op, name string) {
	t.Helper()
	require.ErrorIs(t, err, want)
	var e *fiber.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, op, e.Op)
	require.Equal(t, name, e.Fiber)
	require.ErrorContains(t, err, want.Error())
	require.ErrorContains(t, err, op)
	require.ErrorContains(t, err, name)
}

// requireWorks demands that root can still run fibers.
func requireWorks(t *testing.T, root *fiber.Fiber) {
	t.Helper()
	turns := 0
	f := newFiber(t, root.Backend(), "after an error", func() {
		turns++
		leave(t, root)
		turns++
	})
	require.Same(t, root, fiber.Current())
	enter(t, root, f)
	enter(t, root, f)
	require.Equal(t, 2, turns)
	finish(t, f)
	require.Equal(t, fiber.Running, root.State())
}

func TestSwitchNil(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		var nothing *fiber.Fiber
		requireError(t, nothing.SwitchTo(root), fiber.ErrNoFiber, "switch", "")
		requireError(t, root.SwitchTo(nil), fiber.ErrNotMade, "switch", "")
		requireWorks(t, root)
		zero := new(fiber.Fiber)
		requireError(t, zero.SwitchTo(root), fiber.ErrNoFiber, "switch", "")
		requireError(t, root.SwitchTo(zero), fiber.ErrNotMade, "switch", "")
		requireWorks(t, root)
	})
}

// The zero Fiber was never made, and every method says so or answers nothing.
func TestZeroFiber(t *testing.T) {
	noLeaks(t)
	for name, f := range map[string]*fiber.Fiber{"nil": nil, "zero": new(fiber.Fiber)} {
		t.Run(name, func(t *testing.T) {
			requireError(t, f.Close(), fiber.ErrNotMade, "close", "")
			requireError(t, f.Detach(), fiber.ErrNotMade, "detach", "")
			require.Equal(t, fiber.Closed, f.State())
			require.NotPanics(t, func() {
				require.Empty(t, f.Name())
				require.Equal(t, fiber.Default, f.Backend())
				require.Nil(t, f.Handle())
				require.Nil(t, f.Stack())
			})
		})
	}
}

func TestSwitchToSelf(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		requireError(t, root.SwitchTo(root), fiber.ErrSelf, "switch", root.Name())
		f := newFiber(t, root.Backend(), "narcissus", func() {
			me := fiber.Current()
			err := me.SwitchTo(me)
			assert.ErrorIs(t, err, fiber.ErrSelf)
			assert.ErrorContains(t, err, "narcissus")
			assert.Equal(t, fiber.Running, me.State())
			leave(t, root)
		})
		enter(t, root, f)
		requireWorks(t, root)
		enter(t, root, f)
		finish(t, f)
	})
}

func TestSwitchToFinishedAndClosed(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		f := newFiber(t, root.Backend(), "over", func() {})
		enter(t, root, f)
		requireError(t, root.SwitchTo(f), fiber.ErrFinished, "switch", "over")
		require.Equal(t, fiber.Finished, f.State())
		requireWorks(t, root)
		finish(t, f)
		requireError(t, root.SwitchTo(f), fiber.ErrClosed, "switch", "over")
		requireWorks(t, root)

		unused := newFiber(t, root.Backend(), "unused", func() { t.Error("entered") })
		require.NoError(t, unused.Close())
		requireError(t, root.SwitchTo(unused), fiber.ErrClosed, "switch", "unused")
		requireWorks(t, root)
	})
}

// The old name of a carrier that serves another fiber now does not reach that one.
func TestStaleFiber(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		old := newFiber(t, root.Backend(), "old", func() {})
		enter(t, root, old)
		finish(t, old)
		entered := 0
		user := newFiber(t, root.Backend(), "user", func() {
			entered++
			assert.ErrorIs(t, old.SwitchTo(root), fiber.ErrNotCurrent)
			assert.ErrorIs(t, fiber.Current().SwitchTo(old), fiber.ErrClosed, "it is not the one that runs here now")
			leave(t, root)
		})
		if root.Backend() != fiber.Goroutine {
			require.Equal(t, old.Handle(), user.Handle(), "the carrier is the same")
		}
		stale := func() {
			t.Helper()
			requireError(t, root.SwitchTo(old), fiber.ErrClosed, "switch", "old")
			requireError(t, old.Close(), fiber.ErrClosed, "close", "old")
			require.Equal(t, fiber.Closed, old.State())
		}
		stale() // user is Ready
		enter(t, root, user)
		require.Equal(t, 1, entered)
		stale() // Suspended
		require.Equal(t, fiber.Suspended, user.State())
		enter(t, root, user)
		stale() // Finished
		finish(t, user)
		stale()
		require.NoError(t, fiber.Drain())
		stale()
		requireWorks(t, root)
	})
}

func TestSwitchFromPlainGoroutine(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		f := newFiber(t, root.Backend(), "ready", func() { leave(t, root) })
		elsewhere := func(from, to *fiber.Fiber) error {
			err := make(chan error)
			go func() { err <- from.SwitchTo(to) }()
			return <-err
		}
		requireError(t, elsewhere(root, f), fiber.ErrNoFiber, "switch", "ready")
		requireError(t, elsewhere(f, root), fiber.ErrNoFiber, "switch", root.Name())
		enter(t, root, f)
		requireError(t, elsewhere(root, f), fiber.ErrNoFiber, "switch", "ready")
		requireError(t, elsewhere(f, root), fiber.ErrNoFiber, "switch", root.Name())
		require.Equal(t, fiber.Suspended, f.State())
		enter(t, root, f)
		finish(t, f)
		requireWorks(t, root)
	})
}

func TestSwitchFromAnotherThanTheCurrent(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		b := root.Backend()
		ready := newFiber(t, b, "ready", func() {})
		held := newFiber(t, b, "held", func() { leave(t, root) })
		enter(t, root, held)
		requireError(t, held.SwitchTo(ready), fiber.ErrNotCurrent, "switch", "ready")
		requireError(t, ready.SwitchTo(held), fiber.ErrNotCurrent, "switch", "held")
		requireError(t, held.SwitchTo(root), fiber.ErrNotCurrent, "switch", root.Name())
		inside := newFiber(t, b, "inside", func() {
			assert.ErrorIs(t, root.SwitchTo(held), fiber.ErrNotCurrent)
			assert.ErrorIs(t, held.SwitchTo(root), fiber.ErrNotCurrent)
		})
		enter(t, root, inside)
		finish(t, inside)
		enter(t, root, held)
		finish(t, held)
		require.ErrorIs(t, held.SwitchTo(ready), fiber.ErrNotCurrent)
		require.NoError(t, ready.Close())
		requireWorks(t, root)
	})
}

// another runs do on a goroutine of its own that is a root of backend b.
func another(t *testing.T, b fiber.Backend, do func(root *fiber.Fiber)) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		root, err := fiber.Attach(b)
		if !assert.NoError(t, err) {
			return
		}
		defer func() { assert.NoError(t, root.Detach()) }()
		do(root)
	}()
	<-done
}

func TestSwitchToForeignRoot(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		b := root.Backend()
		// A foreign root that runs is running elsewhere; one that is suspended is
		// another thread's.
		another(t, b, func(other *fiber.Fiber) {
			assert.ErrorIs(t, other.SwitchTo(root), fiber.ErrRunning)
		})
		f := newFiber(t, b, "between", func() {
			another(t, b, func(other *fiber.Fiber) {
				err := other.SwitchTo(root)
				assert.ErrorIs(t, err, fiber.ErrForeignRoot)
				assert.ErrorContains(t, err, root.Name())
				assert.ErrorIs(t, other.SwitchTo(fiber.Current()), fiber.ErrSelf)
			})
		})
		enter(t, root, f)
		finish(t, f)
		requireWorks(t, root)
	})
}

func TestSwitchToRunningElsewhere(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		var f *fiber.Fiber
		f = newFiber(t, root.Backend(), "busy", func() {
			another(t, root.Backend(), func(other *fiber.Fiber) {
				err := other.SwitchTo(f)
				assert.ErrorIs(t, err, fiber.ErrRunning)
				assert.ErrorContains(t, err, `"busy"`)
			})
			leave(t, root)
		})
		enter(t, root, f)
		requireWorks(t, root)
		enter(t, root, f)
		finish(t, f)
	})
}

func TestMixedBackends(t *testing.T) {
	eachBackend(t, func(t *testing.T, b fiber.Backend) {
		foreign := fiber.Goroutine
		if b == fiber.Goroutine {
			foreign = fiber.Asm
		}
		onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			f := newFiber(t, foreign, "stranger", func() { t.Error("entered") })
			requireError(t, root.SwitchTo(f), fiber.ErrMixed, "switch", "stranger")
			requireError(t, f.SwitchTo(root), fiber.ErrMixed, "switch", root.Name())
			require.Equal(t, fiber.Ready, f.State())
			requireWorks(t, root)
			require.NoError(t, f.Close())
		})
	})
}

func TestNoBody(t *testing.T) {
	eachBackend(t, func(t *testing.T, b fiber.Backend) {
		f, err := fiber.New(fiber.Config{Name: "empty", Backend: b}, nil)
		requireError(t, err, fiber.ErrNoBody, "new", "empty")
		require.Nil(t, f)
		f, err = fiber.NewC(fiber.Config{Name: "empty", Backend: b}, nil, nil)
		requireError(t, err, fiber.ErrNoBody, "new", "empty")
		require.Nil(t, f)
	})
}

func TestCBodyOnGoroutine(t *testing.T) {
	noLeaks(t)
	f, err := fiber.NewC(fiber.Config{Name: "c", Backend: fiber.Goroutine}, cbody.Return, nil)
	requireError(t, err, fiber.ErrBackend, "new", "c")
	require.Nil(t, f)
}

func TestBadStackSizes(t *testing.T) {
	eachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		refuse := func(size int, wanted ...error) {
			t.Helper()
			before := fiber.ReadStats()
			cfg := fiber.Config{Name: "odd", Backend: b, StackSize: size}
			for _, makeOne := range []func() (*fiber.Fiber, error){
				func() (*fiber.Fiber, error) { return fiber.New(cfg, func() {}) },
				func() (*fiber.Fiber, error) { return fiber.NewC(cfg, cbody.Return, nil) },
			} {
				f, err := makeOne()
				require.Nil(t, f)
				var e *fiber.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, "odd", e.Fiber)
				matches := false
				for _, want := range wanted {
					matches = matches || errors.Is(err, want)
				}
				require.True(t, matches, "%d bytes: %v", size, err)
			}
			require.Equal(t, before, fiber.ReadStats())
		}
		onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			for _, size := range []int{-1, -4096, math.MinInt} {
				refuse(size, stack.ErrSize, fiber.ErrStackSize)
			}
			for _, size := range []int{math.MaxInt, math.MaxInt - 4096, 1 << 60, 1 << 46} {
				refuse(size, stack.ErrSize, stack.ErrExhausted, fiber.ErrStackSize)
			}
			for _, size := range []int{1, 4096, fiber.MinGoStack - 1} {
				f, err := fiber.New(fiber.Config{Name: "tiny", Backend: b, StackSize: size}, func() {})
				requireError(t, err, fiber.ErrStackSize, "new", "tiny")
				require.Nil(t, f)
			}
			requireWorks(t, root)
		})
	})
}

// Sizes that are not whole pages are rounded up, and C bodies may have small ones.
func TestStackSizes(t *testing.T) {
	eachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			require.Nil(t, root.Stack())
			for _, size := range []int{0, 1, 5000, 16 << 10, fiber.MinGoStack, fiber.MinGoStack + 1, 1 << 20, 64 << 20} {
				want := size
				if size == 0 {
					want = stack.DefaultSize
				}
				cfg := fiber.Config{Name: "sized", Backend: b, StackSize: size}
				order := cbody.NewOrder(cbody.Task{})
				f, err := fiber.NewC(cfg, cbody.Return, order.Pointer())
				require.NoError(t, err)
				have := int(f.Stack().Hi() - f.Stack().Lo())
				require.GreaterOrEqual(t, have, want)
				require.Less(t, have, want+64<<10, "rounded to whole pages")
				enter(t, root, f)
				require.Equal(t, 1, order.Answer().Done)
				order.Free()
				finish(t, f)
				if want < fiber.MinGoStack {
					continue
				}
				g, err := fiber.New(cfg, func() { grow(100) })
				require.NoError(t, err)
				enter(t, root, g)
				finish(t, g)
			}
		})
	})
}

func TestUnknownBackend(t *testing.T) {
	noLeaks(t)
	unknown := fiber.Backend(77)
	refused := func(b fiber.Backend) {
		t.Helper()
		_, err := fiber.New(fiber.Config{Name: "lost", Backend: b}, func() {})
		requireError(t, err, fiber.ErrBackend, "new", "lost")
		_, err = fiber.NewC(fiber.Config{Name: "lost", Backend: b}, cbody.Return, nil)
		requireError(t, err, fiber.ErrBackend, "new", "lost")
		_, err = fiber.Attach(b)
		requireError(t, err, fiber.ErrBackend, "attach", "")
		require.ErrorIs(t, fiber.Prewarm(fiber.Config{Backend: b}, 1), fiber.ErrBackend)
	}
	refused(unknown)
	_, err := fiber.ParseBackend("fibre")
	require.ErrorIs(t, err, fiber.ErrBackend)
	require.ErrorContains(t, err, `"fibre"`)
	require.ErrorContains(t, err, "ucontext")

	t.Setenv(fiber.EnvBackend, "fibre")
	refused(fiber.Default)
	_, err = fiber.Attach(fiber.Default)
	require.ErrorContains(t, err, fiber.EnvBackend)
	require.ErrorContains(t, err, `"fibre"`)
	require.Nil(t, fiber.Current())
}

func TestDefaultBackend(t *testing.T) {
	for name, want := range map[string]fiber.Backend{
		"": fiber.Asm, "default": fiber.Asm, "asm": fiber.Asm, "ucontext": fiber.Ucontext, "goroutine": fiber.Goroutine,
	} {
		t.Run("env="+name, func(t *testing.T) {
			noLeaks(t)
			t.Setenv(fiber.EnvBackend, name)
			onRoot(t, fiber.Default, func(t *testing.T, root *fiber.Fiber) {
				require.Equal(t, want, root.Backend())
				f := newFiber(t, fiber.Default, "f", func() { leave(t, root) })
				require.Equal(t, want, f.Backend())
				enter(t, root, f)
				enter(t, root, f)
				finish(t, f)
			})
		})
	}
}

func TestAttachAndDetachMisuse(t *testing.T) {
	eachBackend(t, func(t *testing.T, b fiber.Backend) {
		root, err := fiber.Attach(b)
		require.NoError(t, err)
		for _, again := range fiber.Backends() {
			_, err := fiber.Attach(again)
			requireError(t, err, fiber.ErrAttached, "attach", root.Name())
		}
		elsewhere := make(chan error)
		go func() { elsewhere <- root.Detach() }()
		requireError(t, <-elsewhere, fiber.ErrNotCurrent, "detach", root.Name())
		another(t, b, func(*fiber.Fiber) {
			assert.ErrorIs(t, root.Detach(), fiber.ErrNotCurrent)
		})

		f := newFiber(t, b, "f", func() {
			for _, again := range fiber.Backends() {
				_, err := fiber.Attach(again)
				assert.ErrorIs(t, err, fiber.ErrAttached)
				assert.ErrorContains(t, err, `"f"`)
			}
			assert.ErrorIs(t, root.Detach(), fiber.ErrNotCurrent)
			assert.ErrorIs(t, fiber.Current().Detach(), fiber.ErrNotRoot)
			leave(t, root)
		})
		requireError(t, f.Detach(), fiber.ErrNotRoot, "detach", "f")
		enter(t, root, f)
		requireError(t, f.Detach(), fiber.ErrNotRoot, "detach", "f")
		enter(t, root, f)
		finish(t, f)
		requireError(t, f.Detach(), fiber.ErrClosed, "detach", "f")
		requireWorks(t, root)

		require.NoError(t, root.Detach())
		require.Equal(t, fiber.Closed, root.State())
		requireError(t, root.Detach(), fiber.ErrClosed, "detach", root.Name())
		require.Nil(t, fiber.Current())

		// A root that is gone can neither leave nor be entered.
		onRoot(t, b, func(t *testing.T, next *fiber.Fiber) {
			requireError(t, next.SwitchTo(root), fiber.ErrClosed, "switch", root.Name())
			require.ErrorIs(t, root.SwitchTo(next), fiber.ErrNotCurrent)
			require.ErrorIs(t, root.Detach(), fiber.ErrClosed)
			require.Error(t, root.Close())
			requireWorks(t, next)
		})
	})
}

// A root that is locked to its thread cannot go while coroutines depend on it.
func TestDetachOfRootThatHoldsCoroutines(t *testing.T) {
	noLeaks(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	root, err := fiber.Attach(fiber.Goroutine)
	require.NoError(t, err)
	never := newFiber(t, fiber.Goroutine, "never entered", func() {})
	held := newFiber(t, fiber.Goroutine, "held", func() { leave(t, root) })
	enter(t, root, held)
	requireError(t, root.Detach(), fiber.ErrHolds, "detach", root.Name())
	requireWorks(t, root)
	enter(t, root, held)
	finish(t, held)
	require.NoError(t, root.Detach())
	require.NoError(t, never.Close())
}

// Suspended fibers stay when their root detaches, and another root finishes them.
func TestFibersOutliveTheirRoot(t *testing.T) {
	eachBackend(t, func(t *testing.T, b fiber.Backend) {
		var now *fiber.Fiber
		f := newFiber(t, b, "heirloom", func() {
			for range 5 {
				leave(t, now)
			}
		})
		for range 6 {
			another(t, b, func(root *fiber.Fiber) {
				now = root
				assert.NoError(t, root.SwitchTo(f))
			})
		}
		finish(t, f)
	})
}

// What fiberlab_switch answers. Nothing changes when it refuses.
func TestErrorCodesOfC(t *testing.T) {
	eachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		code := make(chan int)
		go func() { code <- cbody.Switch(nil) }()
		require.Equal(t, "the calling thread has no root fiber", cbody.ErrorText(<-code))

		onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			refused := func(to unsafe.Pointer, text string) {
				t.Helper()
				order := cbody.NewOrder(cbody.Task{Peer: to, Turns: 1})
				f := newCFiber(t, b, "asks", cbody.Turns, order.Pointer())
				if to == nil && text == "a fiber cannot switch to itself" {
					order.SetPeer(f.Handle())
				}
				enter(t, root, f)
				answer := order.Answer()
				require.Equal(t, text, cbody.ErrorText(answer.Code))
				require.Zero(t, answer.Done)
				require.Zero(t, answer.Broken)
				require.Equal(t, f.Handle(), answer.Self)
				finish(t, f)
				order.Free()
			}
			refused(nil, "the target was closed")
			refused(nil, "a fiber cannot switch to itself")

			over := newFiber(t, b, "over", func() {})
			handle := over.Handle()
			enter(t, root, over)
			refused(handle, "the target's body has returned")
			finish(t, over)
			refused(handle, "the target was closed")

			hold, held := make(chan bool), make(chan *fiber.Fiber)
			go func() {
				another(t, b, func(other *fiber.Fiber) {
					held <- other
					<-hold
					f, err := fiber.New(fiber.Config{Backend: b}, func() {
						held <- fiber.Current()
						<-hold
					})
					assert.NoError(t, err)
					assert.NoError(t, other.SwitchTo(f))
					assert.NoError(t, f.Close())
				})
				close(held)
			}()
			other := <-held
			refused(other.Handle(), "the target is running on another thread")
			hold <- true
			busy := <-held
			refused(busy.Handle(), "the target is running on another thread")
			refused(other.Handle(), "the target is the root fiber of another thread")
			hold <- true
			<-held
			requireWorks(t, root)
		})
		require.Equal(t, "no error", cbody.ErrorText(0))
		require.Equal(t, "unknown error", cbody.ErrorText(1000))
	})
}
