package cxxbody_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/cxxbody"
)

// eachHandSwitched runs test for each backend that runs C bodies, and checks that it leaves
// nothing behind.
func eachHandSwitched(t *testing.T, test func(t *testing.T, b fiber.Backend)) {
	for _, b := range []fiber.Backend{fiber.Asm, fiber.Ucontext} {
		t.Run(b.String(), func(t *testing.T) {
			require.NoError(t, fiber.Drain())
			before := fiber.ReadStats()
			test(t, b)
			require.NoError(t, fiber.Drain())
			require.Equal(t, before, fiber.ReadStats())
		})
	}
}

// onThread runs do on a root of its own, on some thread, and waits.
func onThread(t *testing.T, b fiber.Backend, do func(root *fiber.Fiber)) {
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

// Bodies in C++ switch inside catch clauses and destructors, in any order and on changing
// threads, and each finds its own exceptions again.
func TestExceptionsAreTheFibersOwn(t *testing.T) {
	eachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		seed := uint64(time.Now().UnixNano())
		rng := rand.New(rand.NewPCG(seed, 0))
		const turns, n = 5, 100
		var orders [n]cxxbody.Order
		var fibers [n]*fiber.Fiber
		for i := range fibers {
			orders[i] = cxxbody.NewOrder(i, turns)
			f, err := fiber.NewC(fiber.Config{Name: fmt.Sprint("catches ", i), Backend: b}, cxxbody.Catch, orders[i].Pointer())
			require.NoError(t, err)
			fibers[i] = f
		}
		for left := n; left > 0; {
			onThread(t, b, func(root *fiber.Fiber) {
				for range 4 * n {
					i := rng.IntN(n)
					if fibers[i].State() == fiber.Finished {
						continue
					}
					orders[i].SetPeer(root.Handle())
					if !assert.NoError(t, root.SwitchTo(fibers[i])) {
						return
					}
					if fibers[i].State() == fiber.Finished {
						left--
					}
				}
			})
			if t.Failed() {
				t.FailNow()
			}
		}
		wrong := 0
		for i := range fibers {
			assert.Equal(t, cxxbody.Switches(turns), orders[i].Done())
			wrong += orders[i].Wrong()
			assert.NoError(t, fibers[i].Close())
			orders[i].Free()
		}
		require.Zero(t, wrong, "exceptions of %d fibers were not those of the body that looked; seed %d", n, seed)
	})
}
