package fiber_test

import (
	"fmt"
	"iter"
	"regexp"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/internal/threadtest"
	"fiberlab/tests/internal/child"
	"fiberlab/tests/internal/crash"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
	"fiberlab/tests/internal/trapbody"
)

// move has root, which calls it, change its thread. release must be called some time after.
func move(t require.TestingT, root *fiber.Fiber) (release func()) {
	release, err := threadtest.Move(root.Untie, root.Tie)
	require.NoError(t, err)
	return release
}

// mates returns the backends to whose fibers one of b may switch.
func mates(b fiber.Backend) []fiber.Backend {
	if b == fiber.Goroutine {
		return []fiber.Backend{b}
	}
	return suite.HandSwitched
}

// A root that has moved enters suspended fibers and fresh ones, which switch to one another whatever their backend, and
// they are on its new thread.
func TestRootMovesToAnotherThread(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		const rounds = 5
		var ring []*fiber.Fiber // each switches to the next, the last one to root
		thread, laps := unix.Gettid(), 0
		add := func(b fiber.Backend, to int) {
			i := len(ring)
			ring = append(ring, fibertest.New(t, b, fmt.Sprint(b, i), func() {
				for range to {
					laps++
					if b != fiber.Goroutine {
						assert.Equal(t, thread, unix.Gettid(), "the root's thread, and that of its fibers")
					}
					assert.Same(t, ring[i], fiber.Current())
					assert.Equal(t, fiber.Suspended, root.State())
					next := root
					if i+1 < len(ring) {
						next = ring[i+1]
					}
					if !fibertest.Leave(t, next) {
						return
					}
				}
			}))
		}
		for round := range rounds {
			for _, b := range mates(root.Backend()) {
				add(b, rounds-round)
				add(b, rounds-round)
			}
			release := func() {}
			if round > 0 {
				release = move(t, root)
			}
			thread = unix.Gettid()
			require.Same(t, root, fiber.Current())
			require.True(t, root.IsCurrent())
			before := laps
			fibertest.Enter(t, root, ring[0])
			require.Equal(t, before+len(ring), laps)
			requireWorks(t, root)
			release()
		}
		for _, f := range ring {
			fibertest.Enter(t, root, f)
		}
		fibertest.Finish(t, ring...)
	})
}

// C bodies go on under a root that has moved.
func TestCBodiesUnderRootThatMoves(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			const laps = 4
			var all []*trapbody.Laps
			var fibers []*fiber.Fiber
			for lap := range laps {
				for _, b := range suite.HandSwitched {
					l := trapbody.NewLaps(root.Handle(), laps-lap)
					defer l.Free()
					all = append(all, l)
					fibers = append(fibers, fibertest.NewC(t, b, "c", trapbody.LapBody(), l.Argument()))
				}
				for _, f := range fibers {
					fibertest.Enter(t, root, f)
				}
				defer move(t, root)()
			}
			for i, f := range fibers {
				fibertest.Enter(t, root, f)
				assert.Equal(t, laps-i/len(suite.HandSwitched), all[i].Done())
				assert.Zero(t, all[i].Broken())
			}
			fibertest.Finish(t, fibers...)
		})
	})
}

// While it is untied a root is a goroutine that is no fiber, and cannot be entered. Other roots can enter its fibers.
func TestUntiedRoot(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			var at *fiber.Fiber
			f := fibertest.New(t, b, "f", func() {
				for range 3 {
					fibertest.Leave(t, at)
				}
			})
			at = root
			fibertest.Enter(t, root, f)

			require.NoError(t, root.Untie())
			require.Nil(t, fiber.Current())
			require.False(t, root.IsCurrent())
			require.Equal(t, fiber.Running, root.State())
			requireError(t, root.SwitchTo(f), fiber.ErrNoFiber, "switch", "f")
			requireError(t, root.Detach(), fiber.ErrNotCurrent, "detach", root.Name())
			requireError(t, root.Close(), fiber.ErrRoot, "close", root.Name())
			fibertest.OnAnotherRoot(t, b, func(other *fiber.Fiber) {
				at = other
				assert.ErrorIs(t, other.SwitchTo(root), fiber.ErrRunning)
				assert.NoError(t, other.SwitchTo(f))
				assert.Equal(t, fiber.Suspended, f.State())
			})
			require.Nil(t, fiber.Current())
			require.NoError(t, root.Tie())
			require.Same(t, root, fiber.Current())

			at = root
			fibertest.Enter(t, root, f)
			fibertest.Enter(t, root, f)
			fibertest.Finish(t, f)
			requireWorks(t, root)
		})
	})
}

// The thread of an untied root may be another one's, whose fibers the first root does not disturb.
func TestUntiedRootAttachesAnother(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			require.NoError(t, root.Untie())
			second, err := fiber.Attach(b)
			require.NoError(t, err)
			requireError(t, root.Tie(), fiber.ErrAttached, "tie", root.Name())
			require.Same(t, second, fiber.Current())
			requireWorks(t, second)
			require.NoError(t, second.Detach())
			require.NoError(t, root.Tie())
			requireWorks(t, root)
		})
	})
}

func TestUntieAndTieMisuse(t *testing.T) {
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		var none *fiber.Fiber
		for _, f := range []*fiber.Fiber{none, new(fiber.Fiber)} {
			requireError(t, f.Untie(), fiber.ErrNotMade, "untie", "")
			requireError(t, f.Tie(), fiber.ErrNotMade, "tie", "")
		}
		byHand := b != fiber.Goroutine
		var root *fiber.Fiber
		fibertest.OnRoot(t, b, func(t *testing.T, r *fiber.Fiber) {
			root = r
			elsewhere := func(do func() error) error {
				err := make(chan error)
				go func() { err <- do() }()
				return <-err
			}
			requireError(t, elsewhere(root.Untie), fiber.ErrNotCurrent, "untie", root.Name())
			requireError(t, elsewhere(root.Tie), fiber.ErrNotCurrent, "tie", root.Name())
			fibertest.OnAnotherRoot(t, b, func(*fiber.Fiber) {
				assert.ErrorIs(t, root.Untie(), fiber.ErrNotCurrent)
				assert.ErrorIs(t, root.Tie(), fiber.ErrNotCurrent)
			})
			f := fibertest.New(t, b, "f", func() {
				me := fiber.Current()
				assert.ErrorIs(t, me.Untie(), fiber.ErrNotRoot)
				assert.ErrorIs(t, me.Tie(), fiber.ErrNotRoot)
				assert.ErrorIs(t, root.Untie(), fiber.ErrNotCurrent)
				assert.ErrorIs(t, root.Tie(), fiber.ErrNotCurrent)
			})
			requireError(t, f.Untie(), fiber.ErrNotRoot, "untie", "f")
			requireError(t, f.Tie(), fiber.ErrNotRoot, "tie", "f")
			fibertest.Enter(t, root, f)
			fibertest.Finish(t, f)
			requireError(t, f.Untie(), fiber.ErrClosed, "untie", "f")
			requireError(t, f.Tie(), fiber.ErrClosed, "tie", "f")

			if byHand {
				requireError(t, root.Tie(), fiber.ErrAttached, "tie", root.Name())
			} else {
				require.NoError(t, root.Tie())
			}
			requireWorks(t, root)
			require.NoError(t, root.Untie())
			if byHand {
				requireError(t, root.Untie(), fiber.ErrNotCurrent, "untie", root.Name())
				requireError(t, elsewhere(root.Tie), fiber.ErrNotCurrent, "tie", root.Name())
			} else {
				requireWorks(t, root)
				require.NoError(t, root.Untie())
			}
			require.NoError(t, root.Tie())
			requireWorks(t, root)
		})
		requireError(t, root.Untie(), fiber.ErrClosed, "untie", root.Name())
		requireError(t, root.Tie(), fiber.ErrClosed, "tie", root.Name())
	})
}

// A root that is locked once more, by itself or by a callback from C, stays on its thread when it is untied.
func TestUntiedRootThatIsLockedStays(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			first := unix.Gettid()
			stay := func() {
				require.NoError(t, root.Untie())
				fibertest.OnAnotherRoot(t, b, func(*fiber.Fiber) {
					assert.NotEqual(t, first, unix.Gettid(), "a thread to which another goroutine is locked")
				})
				assert.Equal(t, first, unix.Gettid())
				assert.Nil(t, fiber.Current())
				require.NoError(t, root.Tie())
				requireWorks(t, root)
			}
			runtime.LockOSThread()
			stay()
			runtime.UnlockOSThread()
			trapbody.Nest(2, stay)
			requireWorks(t, root)
			inC := func(do func() error) func() error {
				return func() (err error) {
					trapbody.Nest(1, func() { err = do() })
					return err
				}
			}
			release, err := threadtest.Move(inC(root.Untie), inC(root.Tie))
			require.NoError(t, err)
			requireWorks(t, root)
			release()
		})
	})
}

// A thread that C made keeps its root.
func TestUntieOnThreadOfC(t *testing.T) {
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		require.NoError(t, trapbody.CallOnThread(func() {
			root, err := fiber.Attach(b)
			if !assert.NoError(t, err) {
				return
			}
			if b == fiber.Goroutine {
				assert.NoError(t, root.Untie())
				assert.NoError(t, root.Tie())
			} else {
				assert.ErrorIs(t, root.Untie(), fiber.ErrTied)
				assert.ErrorIs(t, root.Tie(), fiber.ErrAttached)
			}
			turns := 0
			f := fibertest.New(t, b, "f", func() {
				turns++
				fibertest.Leave(t, root)
				turns++
			})
			assert.NoError(t, root.SwitchTo(f))
			assert.NoError(t, root.SwitchTo(f))
			assert.Equal(t, 2, turns)
			assert.NoError(t, f.Close())
			assert.NoError(t, root.Detach())
		}))
	})
}

// A coroutine of iter.Pull runs on behalf of a root that is locked besides, as it was when it was tied last. But
// it is not the root's goroutine, and can neither untie nor detach it.
func TestTiedRootIsFoundInPull(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			defer move(t, root)()
			require.NoError(t, root.Untie())
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			require.NoError(t, root.Tie())
			entered := false
			f := fibertest.New(t, b, "f", func() { entered = true })
			next, stop := iter.Pull(func(yield func(int) bool) {
				assert.Same(t, root, fiber.Current())
				assert.True(t, root.IsCurrent())
				assert.NoError(t, root.SwitchTo(f))
				assert.ErrorIs(t, root.Untie(), fiber.ErrNotCurrent)
				assert.ErrorIs(t, root.Tie(), fiber.ErrNotCurrent)
				assert.ErrorIs(t, root.Detach(), fiber.ErrNotCurrent)
				yield(1)
			})
			v, ok := next()
			require.True(t, ok)
			require.Equal(t, 1, v)
			stop()
			require.True(t, entered)
			fibertest.Finish(t, f)
			requireWorks(t, root)
		})
	})
}

// Under a root that is not locked besides it runs on no fiber's, before and after a move.
func TestUntiedRootInPull(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		pull := func() {
			next, stop := iter.Pull(func(yield func(int) bool) {
				assert.Nil(t, fiber.Current())
				assert.ErrorIs(t, root.Untie(), fiber.ErrNotCurrent)
				assert.ErrorIs(t, root.Tie(), fiber.ErrNotCurrent)
				yield(1)
			})
			_, ok := next()
			require.True(t, ok)
			stop()
		}
		pull()
		release := move(t, root)
		pull()
		release()
		requireWorks(t, root)
	})
}

// mostLoops bounds a loop that waits to be interrupted: it takes some ten seconds.
const mostLoops = 1 << 34

// The fibers of a root that moves can be interrupted, and so can the root.
func TestPreemptionUnderRootThatMoves(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
		var collections atomic.Int64
		stop := countCollections(t, &collections)
		loop := func() bool {
			loops := 0
			for until := collections.Load() + 3; collections.Load() < until && loops < mostLoops; loops++ {
			}
			return loops < mostLoops
		}
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			rounds := suite.Scaled(6, 3)
			fibers := make([]*fiber.Fiber, 3)
			for i := range fibers {
				fibers[i] = fibertest.New(t, mates(b)[i%len(mates(b))], "loop", func() {
					for round := range rounds {
						if !assert.True(
							t, loop(), "fiber %d was not interrupted after %d moves of its root", i, round,
						) {
							return
						}
						fibertest.Leave(t, root)
					}
				})
			}
			for range rounds {
				for _, f := range fibers {
					fibertest.Enter(t, root, f)
				}
				release := move(t, root)
				assert.True(t, loop(), "the root was not interrupted")
				release()
			}
			for _, f := range fibers {
				fibertest.Enter(t, root, f)
			}
			stop()
			fibertest.Finish(t, fibers...)
		})
	})
}

// Roots untie and tie themselves all the time, and pass their fibers around, while the collector runs.
func TestUntieStress(t *testing.T) {
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		suite.KeepCollecting(t)
		roots, each, laps := 4, suite.Scaled(20, 5), suite.Scaled(300, 30)
		type work struct {
			fiber, at *fiber.Fiber
			laps      int
		}
		road := make(chan *work, roots*each)
		var ended atomic.Int64
		all := make([]*work, roots*each)
		for i := range all {
			w := &work{}
			all[i] = w
			w.fiber = fibertest.New(t, mates(b)[i%len(mates(b))], fmt.Sprint("work ", i), func() {
				for lap := range laps {
					sum := grow(lap % 20)
					if b != fiber.Goroutine && lap%5 == 0 { // a coroutine would keep a thread there
						trapbody.Nest(1, func() { fibertest.Leave(t, w.at) })
					} else {
						fibertest.Leave(t, w.at)
					}
					assert.Equal(t, sum, grow(lap%20))
					w.laps++
				}
			})
			road <- w
		}
		var workers sync.WaitGroup
		for range roots {
			workers.Add(1)
			go func() {
				defer workers.Done()
				fibertest.OnAnotherRoot(t, b, func(root *fiber.Fiber) {
					for {
						if !assert.NoError(t, root.Untie()) {
							return
						}
						w, more := <-road // blocks as a goroutine
						if !assert.NoError(t, root.Tie()) || !more {
							return
						}
						w.at = root
						if assert.NoError(t, root.SwitchTo(w.fiber)) && w.fiber.State() != fiber.Finished {
							road <- w
						} else if ended.Add(1) == int64(len(all)) {
							close(road)
						}
					}
				})
			}()
		}
		workers.Wait()
		for _, w := range all {
			require.Equal(t, laps, w.laps)
			fibertest.Finish(t, w.fiber)
		}
	})
}

var (
	childOverflowOfMovedRoot = child.New("overflow of a root that has moved", func(t child.T, b fiber.Backend) {
		root := child.Root(t, b)
		root.SetName("the moved one")
		move(t, root)
		trapbody.Overflow()
	})
	movedRootReport = regexp.MustCompile(`(?m)^fiberlab: stack overflow on fiber "the moved one": ` +
		`its C stack, the thread's own of some \d+ bytes, ran out at 0x[0-9a-f]+; raise the limit`)
)

// An overflow of the stack of the thread on which a root is now is reported as that.
func TestOverflowOfMovedRoot(t *testing.T) {
	for _, b := range suite.HandSwitched {
		t.Run(b.String(), func(t *testing.T) {
			t.Parallel()
			out := child.RunCrash(t, childOverflowOfMovedRoot, b)
			require.Len(t, movedRootReport.FindAllString(out, -1), 1, out)
			crash.RequireGoReport(t, out)
		})
	}
}
