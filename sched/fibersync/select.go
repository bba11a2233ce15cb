package fibersync

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"fiberlab/sched/park"
)

// Select does one of several sends and receives, as Go's select does: it blocks the caller
// until one of them is possible, and if several are, takes one at random. It returns the index
// of the case after the case's function has returned. Exactly one case takes place, or none:
//
//	fibersync.Select(ctx,
//		words.OnReceive(func(word string, ok bool) { ... }),
//		counts.OnSend(n, func() { n = 0 }))
//
// If ctx is done before a case is possible, Select returns -1 and context.Cause(ctx). If the
// case is a send and the channel is closed, the error wraps ErrClosed. It panics with an error
// that wraps ErrCaseInUse if one of the cases is in use, or ErrNilCase if one is nil.
func Select(ctx context.Context, cases ...Case) (index int, err error) {
	u := within(ctx)
	return choose(cases, func(c *choice) (int, error) {
		if i := c.tryOrEnqueue(); i >= 0 {
			return i, nil
		}
		return c.wait(u)
	})
}

// TrySelect is Select that does not block: it returns -1 and no error if no case is
// possible, as a select with a default does.
func TrySelect(cases ...Case) (index int, err error) {
	return choose(cases, func(c *choice) (int, error) { return c.try(), nil })
}

func choose(cases []Case, chosen func(c *choice) (int, error)) (index int, err error) {
	c := newChoice(cases)
	index, err = chosen(c)
	c.free(index)
	if index >= 0 {
		err = cases[index].finish()
	}
	return index, err
}

// choice is one Select: a waiter with an offer in several queues. The first to claim the choice
// has the one exchange with it. All other offers are void from then on, and the waiter removes
// them.
//
// A Select holds the mu of all its channels while it looks for a case that is possible. So no
// other side can claim it before it has decided to wait, and it can claim another waiter
// without promising the same exchange twice.
type choice struct {
	waiter
	claimed atomic.Bool
	fired   int // the index of the case, once the choice is handed off

	cases []Case
	locks []Case // one for each channel, in the order of locking
	turns []int  // the indices of the cases, in the order of trying them
}

var choices = sync.Pool{New: func() any { return new(choice) }}

// newChoice returns a choice of the caller, for one Select. It panics if a case is in use or
// nil.
func newChoice(cases []Case) *choice {
	c := choices.Get().(*choice)
	c.claimed.Store(false)
	for i, k := range cases {
		if err := c.adopt(k, i); err != nil {
			c.free(-1)
			panic(fmt.Errorf("fibersync: select: case %d: %w", i, err))
		}
		c.cases = append(c.cases, k)
		if k.lockRank() != 0 {
			c.locks = append(c.locks, k)
		}
		c.turns = append(c.turns, i)
		j := rand.IntN(i + 1)
		c.turns[i], c.turns[j] = c.turns[j], i
	}
	slices.SortFunc(c.locks, func(a, b Case) int { return cmp.Compare(a.lockRank(), b.lockRank()) })
	c.locks = slices.CompactFunc(c.locks, func(a, b Case) bool { return a.lockRank() == b.lockRank() })
	return c
}

// adopt makes case i part of the choice, or returns what is wrong with it.
func (c *choice) adopt(k Case, i int) error {
	switch {
	case k == nil:
		return ErrNilCase
	case !k.begin(c, i):
		return ErrCaseInUse
	}
	return nil
}

// free gives the choice back, and releases all cases except the case that is still to finish.
func (c *choice) free(index int) {
	for i, k := range c.cases {
		if i != index {
			k.release()
		}
	}
	clear(c.cases)
	clear(c.locks)
	c.cases, c.locks, c.turns, c.parker = c.cases[:0], c.locks[:0], c.turns[:0], nil
	choices.Put(c)
}

// claim reports whether the caller is the first to claim the choice. The caller is the waiter
// itself, or has found one of its offers and holds the mu of that channel.
func (c *choice) claim() bool { return c.claimed.CompareAndSwap(false, true) }

func (c *choice) lock() {
	for _, k := range c.locks {
		k.lock()
	}
}

func (c *choice) unlock() {
	for _, k := range c.locks {
		k.unlock()
	}
}

// try does one case that is possible and returns its index, or -1.
func (c *choice) try() int {
	c.lock()
	defer c.unlock()
	return c.first()
}

// tryOrEnqueue is try which, if no case is possible, puts an offer in each queue.
func (c *choice) tryOrEnqueue() int {
	c.lock()
	defer c.unlock()
	i := c.first()
	if i < 0 {
		if err := park.CanPark(); err != nil {
			for _, k := range c.cases {
				k.release()
			}
			panic(err)
		}
		c.begin()
		for _, k := range c.cases {
			k.enqueue()
		}
	}
	return i
}

// first does the first case that is possible, in the order of turns. The caller holds the mu of
// all channels.
func (c *choice) first() int {
	for _, i := range c.turns {
		if c.cases[i].try() {
			return i
		}
	}
	return -1
}

// wait parks the caller until one of its offers is handed off, or until u has ended, and
// removes the others. The caller holds no mu.
func (c *choice) wait(u until) (index int, err error) {
	err = c.await(u)
	if err != nil && !c.claim() {
		err = c.await(until{}) // it has been claimed, and the hand-off is under way
	}
	index = c.fired
	if err != nil {
		index = -1
	}
	for i, k := range c.cases {
		if i != index {
			k.dequeue()
		}
	}
	return index, err
}
