package fiber_test

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/cbody"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/leaks"
	"fiberlab/tests/internal/suite"
)

// A crew stands for a scheduler under which fibers migrate. It has workers, each a root, and one queue of suspended
// fibers from which any of them takes the next. A fiber is queued by the party that arrives after it, because only then
// has it left its thread.
type crew struct {
	t       *testing.T
	backend fiber.Backend
	locked  bool // the workers are locked to their threads, on the Goroutine backend
	steps   int
	queue   chan *migrant
	left    atomic.Int64 // fibers that have yet to finish
	moves   atomic.Int64 // times that a fiber went on at another worker
}

// crewWorker is one of them. Only what runs on it touches its fields.
type crewWorker struct {
	crew     *crew
	root     *fiber.Fiber
	departed *migrant // suspended last, to be queued by the next to arrive
	finished *migrant // has returned last, to be closed by the root
	dice     *rand.Rand
}

// migrant is a fiber with a job: some steps, after each of which it suspends.
type migrant struct {
	fiber  *fiber.Fiber
	worker *crewWorker // where it runs; set by the party that enters it
	before *crewWorker
	dice   *rand.Rand
	done   int
}

// newMigrant makes a fiber, usually from a pooled runner, and does not queue it.
func (c *crew) newMigrant(seed uint64) (*migrant, error) {
	m := &migrant{dice: rand.New(rand.NewPCG(suite.Seed(), seed))}
	var err error
	m.fiber, err = fiber.New(fiber.Config{Name: fmt.Sprint("migrant ", seed), Backend: c.backend}, func() { m.work(c) })
	if err == nil {
		m.fiber.SetValue(m)
	}
	return m, err
}

// arrive runs on a worker whenever something has come back to it.
func (w *crewWorker) arrive() {
	if m := w.departed; m != nil {
		w.departed = nil
		w.crew.queue <- m
	}
}

// run is the worker's root: it enters fibers until all have finished.
func (w *crewWorker) run() {
	c := w.crew
	for m := range c.queue {
		m.worker = w
		if !assert.NoError(c.t, w.root.SwitchTo(m.fiber)) {
			c.endOne()
			continue
		}
		w.arrive()
		if m := w.finished; m != nil {
			w.finished = nil
			assert.Equal(c.t, c.steps, m.done)
			assert.NoError(c.t, m.fiber.Close())
			c.endOne()
		}
	}
}

// endOne closes the queue when the last fiber has finished.
func (c *crew) endOne() {
	if c.left.Add(-1) == 0 {
		close(c.queue)
	}
}

// suspend leaves for the next fiber in the queue or for the worker's root.
func (m *migrant) suspend() error {
	w := m.worker
	m.before = w
	to := w.root
	if m.dice.IntN(2) == 0 {
		select {
		case next, open := <-w.crew.queue:
			if open {
				next.worker = w
				to = next.fiber
			}
		default:
		}
	}
	w.departed = m
	if err := m.fiber.SwitchTo(to); err != nil {
		w.departed = nil
		if to != w.root {
			w.crew.queue <- to.Value().(*migrant)
		}
		return err
	}
	m.worker.arrive()
	if m.worker != m.before {
		w.crew.moves.Add(1)
	}
	return nil
}

// work is the body.
func (m *migrant) work(c *crew) {
	m.worker.arrive()
	var words [100]int
	for m.done < c.steps {
		words[m.done%100] = m.done
		depth := m.dice.IntN(40)
		sum := grow(depth)
		m.step(c)
		assert.Equal(c.t, sum, grow(depth))
		assert.Equal(c.t, m.done, words[m.done%100])
		assert.Same(c.t, m.fiber, fiber.Current())
		assert.True(c.t, m.fiber.IsCurrent())
		assert.Same(c.t, m, m.fiber.Value())
		assert.False(c.t, m.worker.root.IsCurrent())
		m.done++
	}
	m.worker.finished = m
}

// step suspends the fiber in one of the ways in which a function may be tied to its thread or not.
func (m *migrant) step(c *crew) {
	pulled := func(yield func(int) bool) {
		for i := 0; yield(i); i++ {
			if c.backend != fiber.Goroutine || c.locked { // elsewhere a coroutine is not known for the fiber's
				assert.NoError(c.t, m.suspend())
			}
		}
	}
	switch m.dice.IntN(8) {
	case 0:
		runtime.LockOSThread()
		m.suspendTied(c)
		runtime.UnlockOSThread()
	case 1:
		cbody.DeepCallGo(100, func() { m.suspendTied(c) })
	case 2:
		next, stop := iter.Pull(iter.Seq[int](pulled))
		for want := range 3 {
			got, ok := next()
			assert.True(c.t, ok)
			assert.Equal(c.t, want, got)
			assert.NoError(c.t, m.suspend())
		}
		stop()
	case 3:
		func() {
			defer func() { assert.Equal(c.t, m.done, recover()) }()
			defer func() { assert.NoError(c.t, m.suspend()) }()
			panic(m.done)
		}()
	default:
		assert.NoError(c.t, m.suspend())
	}
}

// suspendTied suspends a fiber that is tied to its thread, which works everywhere but on coroutines
// whose root is locked.
func (m *migrant) suspendTied(c *crew) {
	err := m.suspend()
	if c.backend == fiber.Goroutine && c.locked {
		assert.ErrorIs(c.t, err, fiber.ErrLocked)
		return
	}
	assert.NoError(c.t, err)
}

// start lets the workers of the crew run a number of fibers, in batches that share runners, and
// returns a function that waits for their end.
func (c *crew) start(workers, fibers int, salt uint64) (wait func()) {
	c.queue = make(chan *migrant, fibers)
	c.left.Store(int64(fibers))
	for i := range fibers {
		m, err := c.newMigrant(salt + uint64(i))
		require.NoError(c.t, err)
		c.queue <- m
	}
	var over sync.WaitGroup
	for i := range workers {
		over.Add(1)
		go func() {
			defer over.Done()
			if c.locked {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
			}
			root, err := fiber.Attach(c.backend)
			if !assert.NoError(c.t, err) {
				return
			}
			(&crewWorker{crew: c, root: root, dice: rand.New(rand.NewPCG(suite.Seed(), uint64(i)))}).run()
			assert.NoError(c.t, root.Detach())
		}()
	}
	return over.Wait
}

// Fibers that any worker may take from one queue finish, are closed and leave their runners to the next ones, while
// the pool is drained again and again. On the Goroutine backend the workers that share a queue are not
// locked to their threads, and others, that are, work beside them with fibers from the same pool.
func TestMigratingCrew(t *testing.T) {
	for _, workers := range []int{2, 5} {
		t.Run(fmt.Sprint(workers, " workers"), func(t *testing.T) {
			suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
				suite.KeepCollecting(t)
				batches, fibers, steps := 6, suite.Scaled(80, 30), suite.Scaled(60, 15)
				seed := suite.NewRand(t).Uint64()
				stop, stopped := make(chan struct{}), make(chan struct{})
				defer func() { close(stop); <-stopped }()
				go func() {
					defer close(stopped)
					for {
						select {
						case <-stop:
							return
						case <-time.After(time.Millisecond):
							assert.NoError(t, fiber.Drain())
						}
					}
				}()
				var moves int64
				// One worker may serve all fibers of a batch before another one gets a processor.
				for batch, start := 0, time.Now(); batch < batches || moves == 0 && time.Since(start) < time.Minute; batch++ {
					salt := seed + uint64(batch)<<32
					shared := &crew{t: t, backend: b, steps: steps}
					crews := []*crew{shared}
					waits := []func(){shared.start(workers, fibers, salt)}
					for i := uint64(1); b == fiber.Goroutine && i <= 2; i++ {
						own := &crew{t: t, backend: b, steps: steps, locked: true}
						crews = append(crews, own)
						waits = append(waits, own.start(1, fibers/3, salt+i<<24))
					}
					for i, wait := range waits {
						ended := make(chan struct{})
						go func() { wait(); close(ended) }()
						select {
						case <-ended:
						case <-time.After(3 * time.Minute):
							require.FailNow(
								t, "a crew stands still", "%d of its fibers have not finished, %d are queued",
								crews[i].left.Load(), len(crews[i].queue),
							)
						}
					}
					moves += shared.moves.Load()
				}
				require.NotZero(t, moves, "a fiber that went on at another worker")
				t.Logf("%d moves", moves)
			})
		})
	}
}

// A fiber that suspends in a callback from C, by a goroutine that stands in for its own, goes on at any root
// that is not locked.
func TestStandInMigrates(t *testing.T) {
	leaks.Check(t)
	b := fiber.Goroutine
	const turns = 200
	turn := make(chan *fiber.Fiber, 1)
	f := fibertest.New(t, b, "tied", func() {
		for range turns {
			cbody.DeepCallGo(10, func() { fibertest.Leave(t, <-turn) })
		}
	})
	baton := make(chan bool)
	var over sync.WaitGroup
	for range 3 {
		over.Add(1)
		go func() {
			defer over.Done()
			fibertest.OnAnotherRoot(t, b, func(root *fiber.Fiber) {
				for range baton {
					turn <- root
					err := root.SwitchTo(f)
					if f.State() == fiber.Finished {
						<-turn
						close(baton)
						return
					}
					assert.NoError(t, err)
					go func() { baton <- true }()
				}
			})
		}()
	}
	baton <- true
	over.Wait()
	fibertest.Finish(t, f)
}
