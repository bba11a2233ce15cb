package fiber_test

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
)

// arena is a fiber that threads race for, with the roots of those threads.
type arena struct {
	fiber   *fiber.Fiber
	roots   []*fiber.Fiber
	entries int // not atomic: one thread at a time is in the fiber
}

// goHome switches to the root of the thread that this runs on: the only root that
// can be entered from here.
func (a *arena) goHome(t *testing.T) {
	me := fiber.Current()
	for {
		for _, root := range a.roots {
			switch err := me.SwitchTo(root); {
			case err == nil:
				return
			case !errors.Is(err, fiber.ErrRunning) && !errors.Is(err, fiber.ErrForeignRoot):
				t.Errorf("going home: %v", err)
				return
			}
		}
	}
}

// Of threads that want the same fiber exactly one gets it; the others are told
// that it runs, or in the end that it is finished.
func TestRaceForAFiber(t *testing.T) {
	const threads = 2
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		entries := suite.Scaled(500_000, 5000)
		a := &arena{roots: make([]*fiber.Fiber, threads)}
		a.fiber = fibertest.New(t, b, "wanted", func() {
			for range entries {
				a.entries++
				a.goHome(t)
			}
			a.entries++
		})
		var won, lost, late atomic.Int64
		var ready, over sync.WaitGroup
		ready.Add(threads)
		for i := range threads {
			over.Add(1)
			go func() {
				defer over.Done()
				fibertest.OnAnotherRoot(t, b, func(root *fiber.Fiber) {
					a.roots[i] = root
					ready.Done()
					ready.Wait()
					for {
						err := root.SwitchTo(a.fiber)
						switch {
						case err == nil:
							won.Add(1)
						case errors.Is(err, fiber.ErrRunning):
							if lost.Add(1)%64 == 0 {
								runtime.Gosched()
							}
						case errors.Is(err, fiber.ErrFinished):
							late.Add(1)
							return
						default:
							t.Error(err)
							return
						}
					}
				})
			}()
		}
		over.Wait()
		require.Equal(t, entries+1, a.entries)
		require.EqualValues(t, a.entries, won.Load())
		require.EqualValues(t, threads, late.Load())
		t.Logf("%d won, %d lost", won.Load(), lost.Load())
		fibertest.Finish(t, a.fiber)
	})
}

// The first entry is raced for as well, and against Close.
func TestRaceForAReadyFiber(t *testing.T) {
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		const threads = 2
		rounds := suite.Scaled(5000, 2000)
		var target atomic.Pointer[fiber.Fiber]
		start, done := make(chan bool), make(chan error)
		for range threads {
			go func() {
				fibertest.OnAnotherRoot(t, b, func(root *fiber.Fiber) {
					for range start {
						done <- root.SwitchTo(target.Load())
					}
				})
				done <- nil
			}()
		}
		for round := range rounds {
			entered := 0
			f := fibertest.New(t, b, "wanted", func() { entered++ })
			target.Store(f)
			for range threads {
				start <- true
			}
			var closed error = fiber.ErrSelf
			if round%2 == 0 {
				closed = f.Close()
			}
			won := 0
			for range threads {
				switch err := <-done; {
				case err == nil:
					won++
				case errors.Is(err, fiber.ErrRunning), errors.Is(err, fiber.ErrFinished):
				default:
					require.ErrorIs(t, err, fiber.ErrClosed)
					require.NoError(t, closed)
				}
			}
			require.Equal(t, won, entered)
			if f.State() == fiber.Finished {
				fibertest.Finish(t, f)
			}
			require.Equal(t, fiber.Closed, f.State())
			require.LessOrEqual(t, won, 1)
			if closed != nil {
				require.Equal(t, 1, won)
			}
		}
		close(start)
		for range threads {
			<-done
		}
	})
}
