package fiber_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
)

// crowd is some fibers that several roots share. The model is one lock for each fiber. The running fiber holds its own
// lock, and takes the lock of the fiber to which it switches. So every switch must work, and a fiber must find the
// values that were left for it.
type crowd struct {
	t       *testing.T
	backend fiber.Backend
	places  []atomic.Pointer[citizen]
	steps   atomic.Int64 // left to take, by all together
	failed  atomic.Bool
}

// town is one root with the fibers that run in its place.
type town struct {
	root    *fiber.Fiber
	rng     *rand.Rand
	running *citizen // nil: the root
	left    *citizen // the fiber that was left for the running one; nil: the root
	ended   bool     // and that one's body has returned
}

// citizen is a fiber. All but the lock and the fiber belong to the holder of the lock.
type citizen struct {
	lock   sync.Mutex
	fiber  *fiber.Fiber
	town   *town
	place  int
	visits int
}

func (w *crowd) check(ok bool, format string, args ...any) {
	if !ok && !w.failed.Swap(true) {
		w.t.Errorf(format, args...)
	}
}

func (w *crowd) settle(place int) error {
	c := &citizen{place: place}
	f, err := fiber.New(fiber.Config{Name: fmt.Sprint("citizen of ", place), Backend: w.backend}, func() { w.live(c) })
	c.fiber = f
	if err == nil {
		w.places[place].Store(c)
	}
	return err
}

// live is the body of a citizen.
func (w *crowd) live(c *citizen) {
	w.arrived(c)
	dice := c.town.rng
	for w.steps.Add(-1) > 0 && !w.failed.Load() {
		way := dice.IntN(30)
		if way == 0 {
			break
		}
		words := [3]int{c.visits, c.place, way}
		if way < 5 {
			w.home(c)
		} else if to := w.free(c.town); to == nil {
			continue
		} else if way < 10 {
			func() {
				defer func() { w.check(recover() == c, "%q recovered something else", c.fiber.Name()) }()
				defer w.visit(c, to)
				panic(c)
			}()
		} else {
			w.visit(c, to)
		}
		w.check(words == [3]int{c.visits - 1, c.place, way}, "%q finds %v", c.fiber.Name(), words)
		dice = c.town.rng
	}
	c.town.left, c.town.running, c.town.ended = c, nil, true
	if w.backend == fiber.Goroutine && dice.IntN(5) == 0 { // the others would be stranded by it
		runtime.Goexit()
	}
}

// free takes the lock of a random citizen, or of none.
func (w *crowd) free(t *town) *citizen {
	for range 10 {
		c := w.places[t.rng.IntN(len(w.places))].Load()
		if c != nil && c.lock.TryLock() {
			if w.places[c.place].Load() == c {
				return c
			}
			c.lock.Unlock() // it was closed meanwhile
		}
	}
	return nil
}

// visit switches from c, which runs, to another one, whose lock it holds.
func (w *crowd) visit(c, to *citizen) {
	to.town = c.town
	to.town.left, to.town.running = c, to
	err := c.fiber.SwitchTo(to.fiber)
	w.check(err == nil, "%q to %q: %v", c.fiber.Name(), to.fiber.Name(), err)
	w.arrived(c)
}

// home switches from c, which runs, to its root.
func (w *crowd) home(c *citizen) {
	c.town.left, c.town.running = c, nil
	err := c.fiber.SwitchTo(c.town.root)
	w.check(err == nil, "%q to its root: %v", c.fiber.Name(), err)
	w.arrived(c)
}

// arrived checks that c runs where it was sent, and unlocks the fiber that was left.
func (w *crowd) arrived(c *citizen) {
	c.visits++
	t := c.town
	w.check(t.running == c, "%q runs, and another one should", c.fiber.Name())
	w.check(fiber.Current() == c.fiber, "current of %q is wrong", c.fiber.Name())
	w.check(c.fiber.State() == fiber.Running, "%q runs and is %v", c.fiber.Name(), c.fiber.State())
	if t.left == nil {
		w.check(t.root.State() == fiber.Suspended, "the root is %v", t.root.State())
		return
	}
	w.check(t.left.fiber.State() == fiber.Suspended, "%q was left and is %v", t.left.fiber.Name(), t.left.fiber.State())
	if !w.failed.Load() {
		t.left.lock.Unlock()
	}
}

// enter switches from the root to a citizen, whose lock it holds, and comes back.
func (w *crowd) enter(t *town, c *citizen) {
	c.town = t
	t.left, t.running = nil, c
	err := t.root.SwitchTo(c.fiber)
	w.check(err == nil, "root to %q: %v", c.fiber.Name(), err)
	if err != nil {
		return
	}
	w.check(t.running == nil, "the root runs, and a fiber should")
	w.check(fiber.Current() == t.root && t.root.State() == fiber.Running, "the root runs and is not itself")
	if w.failed.Load() {
		return // it is not known which fiber was left
	}
	gone := t.left
	if t.ended {
		t.ended = false
		w.check(gone.fiber.State() == fiber.Finished, "%q ended and is %v", gone.fiber.Name(), gone.fiber.State())
		err := gone.fiber.Close()
		w.check(err == nil, "%q: %v", gone.fiber.Name(), err)
		w.places[gone.place].Store(nil)
		if w.steps.Load() > 0 {
			w.check(w.settle(gone.place) == nil, "a new fiber")
		}
	}
	gone.lock.Unlock()
}

// town runs on a root's goroutine until all steps are taken.
func (w *crowd) town(root *fiber.Fiber, seed int) *town {
	t := &town{root: root, rng: rand.New(rand.NewPCG(suite.Seed(), uint64(seed)))}
	for w.steps.Load() > 0 && !w.failed.Load() {
		if c := w.free(t); c != nil {
			w.enter(t, c)
		} else {
			runtime.Gosched()
		}
	}
	return t
}

// leave ends all fibers, on the only root that is left.
func (w *crowd) leave(t *town) {
	for i := range w.places {
		for c := w.places[i].Load(); c != nil && !w.failed.Load(); c = w.places[i].Load() {
			c.lock.Lock()
			w.enter(t, c)
		}
	}
	if w.failed.Load() {
		w.abandon(t)
	}
}

// abandon ends all fibers after a failure, by which their bodies return when they are entered. It is not known which
// fiber has which lock then.
func (w *crowd) abandon(t *town) {
	for i := range w.places {
		c := w.places[i].Load()
		if c == nil {
			continue
		}
		for entries := 0; entries < 100 && c.fiber.State() != fiber.Finished; entries++ {
			c.town, t.left, t.running = t, nil, c
			if t.root.SwitchTo(c.fiber) != nil {
				break
			}
		}
		_ = c.fiber.Close()
	}
}

func newCrowd(t *testing.T, b fiber.Backend, places int) *crowd {
	suite.NewRand(t) // says how to repeat
	w := &crowd{t: t, backend: b, places: make([]atomic.Pointer[citizen], places)}
	w.steps.Store(int64(suite.Scaled(40_000, 8000)))
	for i := range w.places {
		require.NoError(t, w.settle(i))
	}
	return w
}

// Fibers of several roots switch to one another and to their roots, move from root
// to root, and end anywhere: with another fiber's root, or with none.
func TestCrowd(t *testing.T) {
	for _, size := range []struct{ towns, places int }{{2, 2}, {2, 5}, {4, 5}, {4, 200}} {
		t.Run(fmt.Sprint(size.towns, " roots, ", size.places, " fibers"), func(t *testing.T) {
			suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
				suite.KeepCollecting(t)
				w := newCrowd(t, b, size.places)
				var all sync.WaitGroup
				for i := range size.towns {
					all.Add(1)
					go func() {
						defer all.Done()
						fibertest.OnAnotherRoot(t, b, func(root *fiber.Fiber) { w.town(root, i) })
					}()
				}
				all.Wait()
				fibertest.OnAnotherRoot(t, b, func(root *fiber.Fiber) { w.leave(w.town(root, 0)) })
			})
		})
	}
}

// The same with one root, whose thread may be its own: then so are its fibers.
func TestCrowdOfOneRoot(t *testing.T) {
	for _, locked := range []bool{false, true} {
		t.Run(fmt.Sprint("locked ", locked), func(t *testing.T) {
			suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
				suite.KeepCollecting(t)
				if locked {
					runtime.LockOSThread()
					defer runtime.UnlockOSThread()
				}
				w := newCrowd(t, b, 10)
				fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) { w.leave(w.town(root, 0)) })
			})
		})
	}
}
