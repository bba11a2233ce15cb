package fiber_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/tests/internal/cbody"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
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
			cbody.DeepCallGo(1000, func() { fibertest.Leave(t, v.at) })
		case lap%3 == 1:
			func() {
				defer func() { assert.Equal(t, lap, recover()) }()
				defer fibertest.Leave(t, v.at)
				panic(lap)
			}()
		default:
			fibertest.Leave(t, v.at)
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
			suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
				suite.KeepCollecting(t)
				count, laps := suite.Scaled(100, 20), suite.Scaled(150, 30)
				rng := suite.NewRand(t)
				roads := make([]chan *traveller, threads)
				for i := range roads {
					roads[i] = make(chan *traveller, count)
				}
				var arrived sync.WaitGroup
				arrived.Add(count)
				travellers := make([]*traveller, count)
				for i := range travellers {
					v := &traveller{}
					v.fiber = fibertest.New(t, b, fmt.Sprint("traveller ", i), func() { v.travel(t, b, laps) })
					travellers[i] = v
					roads[rng.IntN(threads)] <- v
				}
				var workers sync.WaitGroup
				for here := range roads {
					workers.Add(1)
					dice := rand.New(rand.NewPCG(suite.Seed(), uint64(here)))
					go func() {
						defer workers.Done()
						fibertest.OnAnotherRoot(t, b, func(root *fiber.Fiber) {
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
					fibertest.Finish(t, v.fiber)
				}
			})
		})
	}
}

// C bodies migrate as well, with their stacks and registers.
func TestMigrationOfCBodies(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		const threads, turns = 3, 500
		order := cbody.NewOrder(cbody.Task{Turns: turns, Depth: 10_000})
		defer order.Free()
		f := fibertest.NewC(t, b, "c", cbody.Deep, order.Pointer())
		baton := make(chan bool)
		done := make(chan bool)
		for range threads {
			go func() {
				fibertest.OnAnotherRoot(t, b, func(root *fiber.Fiber) {
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
		fibertest.Finish(t, f)
	})
}
