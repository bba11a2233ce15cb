package fiber_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/cbody"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
)

// world is some fibers that switch to one another at random, and a model of what
// state each must be in. The running fiber decides what happens next.
type world struct {
	t       *testing.T
	rng     *rand.Rand
	root    *member
	current *member
	members []*member
	steps   int // left to take
	ending  bool
	failed  bool
}

// member is a fiber and its model.
type member struct {
	fiber  *fiber.Fiber
	state  fiber.State
	order  *cbody.Order // of a C body
	turns  int          // left for a C body
	visits int          // how often it was entered
	notes  map[int]int
}

func newWorld(t *testing.T, root *fiber.Fiber, count, steps int) *world {
	w := &world{t: t, rng: suite.NewRand(t), steps: steps}
	w.root = &member{fiber: root, state: fiber.Running}
	w.current = w.root
	for range count {
		w.members = append(w.members, w.newMember())
	}
	return w
}

func (w *world) newMember() *member {
	m := &member{state: fiber.Ready, notes: map[int]int{}}
	b := w.root.fiber.Backend()
	name := fmt.Sprint("member ", w.rng.Uint32())
	if b != fiber.Goroutine && w.rng.IntN(5) == 0 {
		m.turns = w.rng.IntN(10)
		order := cbody.NewOrder(cbody.Task{Turns: m.turns, Depth: 3000, Peer: w.root.fiber.Handle()})
		m.order = &order
		m.fiber = fibertest.NewC(w.t, b, name, cbody.Deep, order.Pointer())
	} else {
		m.fiber = fibertest.New(w.t, b, name, func() { w.live(m) })
	}
	return m
}

func (w *world) check(ok bool, format string, args ...any) {
	if !ok && !w.failed {
		w.failed = true // one report is enough
		w.t.Errorf(format, args...)
	}
}

// live is the body of a member.
func (w *world) live(m *member) {
	var words [100]uint64
	for i := range words {
		words[i] = uint64(m.visits*1000 + i)
	}
	for {
		w.arrived(m)
		if w.ending || w.failed || w.rng.IntN(40) == 0 {
			break
		}
		w.work(m, 3)
		for i, word := range words {
			w.check(word == uint64(i), "word %d of %q is %d", i, m.fiber.Name(), word)
		}
	}
	m.state, w.root.state, w.current = fiber.Finished, fiber.Running, w.root
}

// arrived checks that m runs now, by the model and in truth.
func (w *world) arrived(m *member) {
	w.check(w.current == m, "%q runs instead of %q", m.fiber.Name(), w.current.fiber.Name())
	w.check(fiber.Current() == m.fiber, "current of %q is wrong", m.fiber.Name())
	w.check(m.state == fiber.Running, "%q runs and is %v", m.fiber.Name(), m.state)
	w.checkState(m)
	w.checkState(w.members[w.rng.IntN(len(w.members))])
	m.visits++
	if m.notes != nil {
		m.notes[m.visits] = m.visits * m.visits
	}
}

func (w *world) checkState(m *member) {
	state := m.fiber.State()
	w.check(state == m.state, "%q is %v, and should be %v", m.fiber.Name(), state, m.state)
}

// step switches from m, which runs, to any member or to the root, legally or not.
func (w *world) step(m *member) {
	w.steps--
	to := w.root
	if w.steps > 0 && w.rng.IntN(20) > 0 {
		to = w.members[w.rng.IntN(len(w.members))]
	}
	want := map[fiber.State]error{
		fiber.Closed: fiber.ErrClosed, fiber.Finished: fiber.ErrFinished, fiber.Running: fiber.ErrSelf,
	}[to.state]
	if want != nil {
		err := m.fiber.SwitchTo(to.fiber)
		w.check(assert.ErrorIs(w.t, err, want), "%q to %q", m.fiber.Name(), to.fiber.Name())
		w.checkState(to)
		w.checkState(m)
		return
	}
	m.state, to.state, w.current = fiber.Suspended, fiber.Running, to
	if to.order != nil {
		w.enteredC(to)
	}
	err := m.fiber.SwitchTo(to.fiber)
	w.check(err == nil, "%q to %q: %v", m.fiber.Name(), to.fiber.Name(), err)
	w.arrived(m)
}

// enteredC foresees what a C body will do: it goes to the root at once, or ends.
func (w *world) enteredC(m *member) {
	m.state = fiber.Suspended
	if m.turns == 0 {
		m.state = fiber.Finished
	}
	m.turns--
	w.current, w.root.state = w.root, fiber.Running
}

// tidy closes a member that has finished, or sometimes a member that was never
// entered, and makes a new one in its place.
func (w *world) tidy() {
	i := w.rng.IntN(len(w.members))
	m := w.members[i]
	if m.state == fiber.Finished || m.state == fiber.Ready && w.rng.IntN(10) == 0 {
		w.close(m)
		if w.rng.IntN(4) > 0 {
			w.members[i] = w.newMember()
		}
	}
}

func (w *world) close(m *member) {
	if m.state == fiber.Closed {
		return
	}
	require.NoError(w.t, m.fiber.Close())
	if m.order != nil {
		answer := m.order.Answer()
		w.check(answer.Broken == 0 && answer.Code == 0, "%q: %+v", m.fiber.Name(), answer)
		m.order.Free()
	}
	m.state = fiber.Closed
	w.checkState(m)
}

// run takes all steps, then ends all members.
func (w *world) run() {
	for w.steps > 0 && !w.failed {
		w.tidy()
		w.work(w.root, 2)
	}
	w.ending = true
	for _, m := range w.members {
		for m.state == fiber.Suspended {
			before := w.root.visits
			w.root.state, m.state, w.current = fiber.Suspended, fiber.Running, m
			if m.order != nil {
				w.enteredC(m)
			}
			require.NoError(w.t, w.root.fiber.SwitchTo(m.fiber))
			w.arrived(w.root)
			require.Greater(w.t, w.root.visits, before)
		}
		w.close(m)
	}
}

func TestModel(t *testing.T) {
	for _, count := range []int{1, 2, 3, 10, 100, 1000} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
				suite.KeepCollecting(t)
				w := newWorld(t, root, count, suite.Scaled(5000, 1000)+count)
				w.run()
				require.False(t, w.failed)
			})
		})
	}
}
