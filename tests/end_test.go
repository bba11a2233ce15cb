package tests

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/cbody"
)

// Panics unwind a fiber's own frames only, in the usual order, however often the
// fiber is left meanwhile.
func TestPanicAndRecoverAcrossSwitches(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		const count = 20
		fibers := make([]*fiber.Fiber, count)
		traces := make([][]string, count)
		for i := range fibers {
			note := func(what string) { traces[i] = append(traces[i], what) }
			inner := func() {
				defer func() {
					note("inner")
					leave(t, root) // in mid-panic
				}()
				panic(i)
			}
			outer := func() {
				defer func() {
					note(fmt.Sprint("recovered ", recover()))
					leave(t, root)
				}()
				defer note("outer")
				inner()
				note("not reached")
			}
			fibers[i] = newFiber(t, root.Backend(), "panics", func() {
				defer note("body")
				leave(t, root)
				outer()
				assert.Nil(t, recover())
			})
		}
		for range 4 {
			for _, f := range fibers {
				enter(t, root, f)
			}
		}
		finish(t, fibers...)
		for i, trace := range traces {
			require.Equal(t, []string{"inner", "outer", fmt.Sprint("recovered ", i), "body"}, trace)
		}
	})
}

// A panic in a deferred function of a panic, and one that is thrown again.
func TestNestedPanics(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		var caught []any
		f := newFiber(t, root.Backend(), "panics", func() {
			defer func() { caught = append(caught, recover()) }()
			defer func() {
				leave(t, root)
				first := recover()
				caught = append(caught, first)
				leave(t, root)
				panic("third")
			}()
			defer func() {
				leave(t, root)
				panic("second")
			}()
			panic("first")
		})
		for range 4 {
			enter(t, root, f)
		}
		require.Equal(t, []any{"second", "third"}, caught)
		finish(t, f)
	})
}

// A runtime error is a panic like any other.
func TestRecoverRuntimeError(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		var nothing *[1 << 10]int
		var zero int
		for range 10 {
			var caught []any
			f := newFiber(t, root.Backend(), "faults", func() {
				for _, fault := range []func(){
					func() { _ = nothing[5] },
					func() { _ = 1 / zero },
					func() { _ = make([]int, 1)[zero+1] },
				} {
					func() {
						defer func() { caught = append(caught, recover()) }()
						fault()
					}()
					leave(t, root)
				}
			})
			for range 4 {
				enter(t, root, f)
			}
			require.Len(t, caught, 3)
			for _, c := range caught {
				require.Implements(t, (*runtime.Error)(nil), c)
			}
			finish(t, f)
		}
	})
}

// A panic passes over C frames and is recovered by the Go function above them.
func TestPanicOverCFrames(t *testing.T) {
	eachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			fibers := make([]*fiber.Fiber, 10)
			for i := range fibers {
				fibers[i] = newFiber(t, b, "panics", func() {
					for range 10 {
						func() {
							defer func() { assert.Equal(t, i, recover()) }()
							cbody.DeepCallGo(5000, func() {
								leave(t, root)
								panic(i)
							})
						}()
						leave(t, root)
					}
				})
			}
			for range 2*10 + 1 {
				for _, f := range fibers {
					enter(t, root, f)
				}
			}
			finish(t, fibers...)
		})
	})
}

// runtime.Goexit finishes the fiber as if its body had returned; what is deferred
// runs first, and may switch. FailNow of package testing ends the same way.
func TestGoexit(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		ways := map[string]func(){
			"Goexit":  runtime.Goexit,
			"SkipNow": new(testing.T).SkipNow,
			"FailNow": new(testing.T).FailNow,
		}
		for name, exit := range ways {
			var trace []string
			f := newFiber(t, root.Backend(), name, func() {
				defer func() { trace = append(trace, "deferred") }()
				defer func() {
					assert.Nil(t, recover())
					leave(t, root)
				}()
				func() {
					trace = append(trace, "body")
					exit()
				}()
				trace = append(trace, "not reached")
			})
			enter(t, root, f)
			require.Equal(t, fiber.Suspended, f.State())
			enter(t, root, f)
			require.Equal(t, []string{"body", "deferred"}, trace)
			finish(t, f)
		}
	})
}

// Goexit in a Go function called by C that was called by the body.
func TestGoexitOverCFrames(t *testing.T) {
	eachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			for range 50 {
				deferred := false
				f := newFiber(t, b, "exits", func() {
					defer func() { deferred = true }()
					cbody.DeepCallGo(5000, func() {
						leave(t, root)
						runtime.Goexit()
					})
				})
				enter(t, root, f)
				enter(t, root, f)
				require.True(t, deferred)
				finish(t, f)

				after := newFiber(t, b, "after", func() { cbody.DeepCallGo(20_000, func() { leave(t, root) }) })
				enter(t, root, after)
				enter(t, root, after)
				finish(t, after)
			}
		})
	})
}

// The carrier of a body that called Goexit serves later fibers, any number of
// times, and is counted once.
func TestCarrierAfterGoexitIsReused(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		require.NoError(t, fiber.Drain())
		run := func(body func()) {
			f := newFiber(t, root.Backend(), "f", body)
			enter(t, root, f)
			finish(t, f)
		}
		run(runtime.Goexit)
		once := fiber.ReadStats()
		for range 1000 {
			sum := 0
			run(func() { sum = grow(20) })
			require.Equal(t, grow(20), sum)
		}
		require.Equal(t, once, fiber.ReadStats())
		for range 100 {
			run(runtime.Goexit)
			run(func() {})
		}
		require.Equal(t, once, fiber.ReadStats(), "one carrier, however often its bodies exit")
	})
}

// Bodies that end by Goexit, one after the other, strand a carrier a thousand and
// never use up a Go stack. The goroutine backend keeps nothing of them.
func TestManyGoexitsAreBounded(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		stackBytes := func() int {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int(m.StackInuse)
		}
		const exits = 5000
		before, bytes := fiber.ReadStats(), stackBytes()
		for range exits {
			f := newFiber(t, root.Backend(), "exits", runtime.Goexit)
			enter(t, root, f)
			finish(t, f)
		}
		most := exits/1000 + 1
		if root.Backend() == fiber.Goroutine {
			most = 0
		}
		after := change(before)
		require.LessOrEqual(t, after.Stranded, most)
		require.LessOrEqual(t, after.Identities, most)
		require.LessOrEqual(t, after.Stacks, most)
		require.Less(t, stackBytes(), bytes+1<<20*(most+1))
	})
}

func TestClose(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		b := root.Backend()
		never := newFiber(t, b, "never entered", func() { t.Error("entered") })
		require.NoError(t, never.Close())
		require.Equal(t, fiber.Closed, never.State())
		require.ErrorIs(t, never.Close(), fiber.ErrClosed)

		var f *fiber.Fiber
		f = newFiber(t, b, "f", func() {
			assert.ErrorIs(t, f.Close(), fiber.ErrRunning)
			assert.ErrorIs(t, root.Close(), fiber.ErrRoot)
			leave(t, root)
		})
		enter(t, root, f)
		require.ErrorIs(t, f.Close(), fiber.ErrSuspended)
		require.Equal(t, fiber.Suspended, f.State())
		enter(t, root, f)
		require.Equal(t, fiber.Finished, f.State())
		require.NoError(t, f.Close())
		require.ErrorIs(t, f.Close(), fiber.ErrClosed)
		require.ErrorIs(t, root.Close(), fiber.ErrRoot)
	})
}

// Fibers that are never entered cost no identity and may be closed from any
// goroutine.
func TestCloseElsewhere(t *testing.T) {
	eachBackend(t, func(t *testing.T, b fiber.Backend) {
		before := fiber.ReadStats().Identities
		fibers := make([]*fiber.Fiber, 100)
		for i := range fibers {
			fibers[i] = newFiber(t, b, "f", func() {})
		}
		require.Equal(t, before, fiber.ReadStats().Identities)
		onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			for _, f := range fibers[:50] {
				enter(t, root, f)
			}
		})
		errs := make(chan error, len(fibers))
		for _, f := range fibers {
			go func() { errs <- f.Close() }()
		}
		for range fibers {
			require.NoError(t, <-errs)
		}
	})
}

// Of several that close the same fiber at once, one does.
func TestCloseRace(t *testing.T) {
	eachBackend(t, func(t *testing.T, b fiber.Backend) {
		for range scaled(2000, 200) {
			f := newFiber(t, b, "f", func() {})
			const closers = 4
			errs := make(chan error, closers)
			for range closers {
				go func() { errs <- f.Close() }()
			}
			done := 0
			for range closers {
				if err := <-errs; err == nil {
					done++
				} else {
					require.ErrorIs(t, err, fiber.ErrClosed)
				}
			}
			require.Equal(t, 1, done)
		}
	})
}

// What a closed fiber's body held can be collected, although its carrier lives on
// in the pool.
func TestClosedFiberLetsGoOfItsBody(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		const count = 10
		collected := make(chan struct{}, count)
		for range count {
			func() {
				held := new([1 << 10]int)
				runtime.AddCleanup(held, func(int) { collected <- struct{}{} }, 0)
				f := newFiber(t, root.Backend(), "holds", func() { held[1]++ })
				enter(t, root, f)
				finish(t, f)
			}()
		}
		deadline := time.After(20 * time.Second)
		for i := range count {
			runtime.GC()
			select {
			case <-collected:
			case <-deadline:
				require.Fail(t, "still held", "%d of %d", count-i, count)
			}
		}
	})
}
