package tests

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/tests/cbody"
)

// traveller is a fiber that is entered on another thread each time.
type traveller struct {
	fiber *fiber.Fiber
	at    *fiber.Fiber // the root that it was entered from
	tid   int          // and that one's thread
	laps  int
}

// travel is the body: it checks where it is, works, and goes back.
func (v *traveller) travel(t *testing.T, b fiber.Backend, laps int) {
	notes := map[int]int{}
	var words [200]int
	before := 0
	for lap := range laps {
		if b != fiber.Goroutine {
			assert.Equal(t, v.tid, unix.Gettid(), "the thread that entered it")
			assert.NotEqual(t, before, v.tid, "another one than before")
		}
		before = v.tid
		assert.Same(t, v.fiber, fiber.Current())
		notes[lap] = lap
		words[lap%200] = lap
		sum := grow(lap % 30)
		switch {
		case b != fiber.Goroutine && lap%3 == 0:
			cbody.DeepCallGo(1000, func() { leave(t, v.at) })
		case lap%3 == 1:
			func() {
				defer func() { assert.Equal(t, lap, recover()) }()
				defer leave(t, v.at)
				panic(lap)
			}()
		default:
			leave(t, v.at)
		}
		assert.Equal(t, sum, grow(lap%30))
		assert.Equal(t, lap, words[lap%200])
		assert.Len(t, notes, lap+1)
		v.laps++
	}
}

// Fibers are handed from thread to thread at random while the collector runs.
func TestMigration(t *testing.T) {
	for _, threads := range []int{2, 4} {
		t.Run(fmt.Sprint(threads, " threads"), func(t *testing.T) {
			eachBackend(t, func(t *testing.T, b fiber.Backend) {
				collecting(t)
				count, laps := scaled(100, 20), scaled(150, 30)
				rng := newRand(t)
				roads := make([]chan *traveller, threads)
				for i := range roads {
					roads[i] = make(chan *traveller, count)
				}
				var arrived sync.WaitGroup
				arrived.Add(count)
				travellers := make([]*traveller, count)
				for i := range travellers {
					v := &traveller{}
					v.fiber = newFiber(t, b, fmt.Sprint("traveller ", i), func() { v.travel(t, b, laps) })
					travellers[i] = v
					roads[rng.IntN(threads)] <- v
				}
				var workers sync.WaitGroup
				for here := range roads {
					workers.Add(1)
					dice := rand.New(rand.NewPCG(suiteSeed, uint64(here)))
					go func() {
						defer workers.Done()
						another(t, b, func(root *fiber.Fiber) {
							for v := range roads[here] {
								v.at, v.tid = root, unix.Gettid()
								if !assert.NoError(t, root.SwitchTo(v.fiber)) || v.fiber.State() == fiber.Finished {
									arrived.Done()
									continue
								}
								there := (here + 1 + dice.IntN(threads-1)) % threads
								roads[there] <- v
							}
						})
					}()
				}
				arrived.Wait()
				for _, road := range roads {
					close(road)
				}
				workers.Wait()
				for _, v := range travellers {
					require.Equal(t, laps, v.laps)
					finish(t, v.fiber)
				}
			})
		})
	}
}

// C bodies migrate as well, with their stacks and registers.
func TestMigrationOfCBodies(t *testing.T) {
	eachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		const threads, turns = 3, 500
		order := cbody.NewOrder(cbody.Task{Turns: turns, Depth: 10_000})
		defer order.Free()
		f := newCFiber(t, b, "c", cbody.Deep, order.Pointer())
		baton := make(chan bool)
		done := make(chan bool)
		for range threads {
			go func() {
				another(t, b, func(root *fiber.Fiber) {
					for range baton {
						order.SetPeer(root.Handle())
						assert.NoError(t, root.SwitchTo(f))
						done <- true
					}
				})
				done <- true
			}()
		}
		for range turns + 1 {
			baton <- true
			<-done
		}
		close(baton)
		for range threads {
			<-done
		}
		answer := order.Answer()
		require.Equal(t, turns, answer.Done)
		require.Zero(t, answer.Broken)
		finish(t, f)
	})
}

// A coroutine first entered from a goroutine that is locked to its thread stays
// with that one, and one that was not cannot be entered from there.
func TestPinnedCoroutines(t *testing.T) {
	noLeaks(t)
	b := fiber.Goroutine
	var now *fiber.Fiber
	body := func() { leave(t, now) }
	pinned, free := newFiber(t, b, "pinned", body), newFiber(t, b, "free", body)
	onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
		now = root
		enter(t, root, free)
	})
	locked := make(chan func(*fiber.Fiber))
	done := make(chan bool)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		root, err := fiber.Attach(b)
		assert.NoError(t, err)
		for do := range locked {
			do(root)
			done <- true
		}
		assert.NoError(t, root.Detach())
		close(done)
	}()
	locked <- func(root *fiber.Fiber) {
		now = root
		assert.NoError(t, root.SwitchTo(pinned))
		err := root.SwitchTo(free)
		assert.ErrorIs(t, err, fiber.ErrPinned)
		assert.ErrorContains(t, err, `"free"`)
	}
	<-done
	onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
		requireError(t, root.SwitchTo(pinned), fiber.ErrPinned, "switch", "pinned")
		require.Equal(t, fiber.Suspended, pinned.State())
		now = root
		enter(t, root, free)
		requireWorks(t, root)
	})
	locked <- func(root *fiber.Fiber) {
		now = root
		assert.NoError(t, root.SwitchTo(pinned))
	}
	<-done
	close(locked)
	<-done
	finish(t, pinned, free)
}

// A new fiber is nobody's, whoever it was that ran on its carrier before.
func TestNewFiberIsNotPinned(t *testing.T) {
	noLeaks(t)
	b := fiber.Goroutine
	run := func(t *testing.T, root *fiber.Fiber) {
		f := newFiber(t, b, "new", func() { leave(t, root) })
		enter(t, root, f)
		enter(t, root, f)
		finish(t, f)
	}
	onRoot(t, b, run)
	runtime.LockOSThread()
	onRoot(t, b, run)
	onRoot(t, b, run)
	runtime.UnlockOSThread()
	onRoot(t, b, run)
}

// arena is a fiber that threads race for, with the roots of those threads.
type arena struct {
	fiber   *fiber.Fiber
	roots   []*fiber.Fiber
	entries int // not atomic: whoever is in the fiber is alone there
}

// goHome switches to the root of the thread that this runs on: the only one that
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
	eachBackend(t, func(t *testing.T, b fiber.Backend) {
		entries := scaled(500_000, 5000)
		a := &arena{roots: make([]*fiber.Fiber, threads)}
		a.fiber = newFiber(t, b, "wanted", func() {
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
				another(t, b, func(root *fiber.Fiber) {
					a.roots[i] = root
					ready.Done()
					ready.Wait()
					for {
						err := root.SwitchTo(a.fiber)
						switch {
						case err == nil:
							won.Add(1)
						case errors.Is(err, fiber.ErrRunning):
							lost.Add(1)
							runtime.Gosched()
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
		finish(t, a.fiber)
	})
}

// The first entry is raced for as well, and against Close.
func TestRaceForAReadyFiber(t *testing.T) {
	eachBackend(t, func(t *testing.T, b fiber.Backend) {
		const threads = 2
		rounds := scaled(3000, 300)
		var target atomic.Pointer[fiber.Fiber]
		start, done := make(chan bool), make(chan error)
		for range threads {
			go func() {
				another(t, b, func(root *fiber.Fiber) {
					for range start {
						done <- root.SwitchTo(target.Load())
					}
				})
				done <- nil
			}()
		}
		for round := range rounds {
			entered := 0
			f := newFiber(t, b, "wanted", func() { entered++ })
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
				finish(t, f)
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
