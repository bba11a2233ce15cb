package fibersync

import (
	"context"
	"errors"
	"fmt"

	"fiberlab/internal/spinlock"
)

// ErrNoParties is the error of a barrier for less than one party.
var ErrNoParties = errors.New("a barrier needs parties: make it by NewBarrier, with 1 or more")

// Barrier holds up those who come until as many have come as it is for, and lets these
// go on together. It begins a new phase then: whoever comes next waits for the others of
// the next phase, even if some of the last one have not gone on yet. It must not be copied.
type Barrier struct {
	guard   spinlock.Lock
	parties int
	line    line
}

// NewBarrier makes a barrier for so many parties. It panics with an error that wraps
// ErrNoParties if that is less than 1.
func NewBarrier(parties int) *Barrier {
	if parties < 1 {
		panic(fmt.Errorf("fibersync: barrier for %d: %w", parties, ErrNoParties))
	}
	return &Barrier{parties: parties}
}

// Wait blocks the caller until all parties of this phase have come. It returns which
// of them it is, in the order of their coming: each number from 0, the first, to
// parties-1, the last, who has not been held up, is returned to one of them. It
// panics with an error that wraps ErrNoParties if NewBarrier has not made the barrier.
func (b *Barrier) Wait() int {
	i, _ := b.wait(until{})
	return i
}

// WaitContext is Wait that gives up when ctx is over. It returns -1 and the context's
// error then, and it is as if the caller had not come: the others wait for somebody else,
// or for the same one again. If the last of the phase comes at the same moment, the
// caller may have been counted, and goes on with the others and without an error.
func (b *Barrier) WaitContext(ctx context.Context) (int, error) { return b.wait(within(ctx)) }

func (b *Barrier) wait(u until) (int, error) {
	b.guard.Lock()
	if b.parties == 0 {
		b.guard.Unlock()
		panic(fmt.Errorf("fibersync: wait at a barrier: %w", ErrNoParties))
	}
	if b.line.length == b.parties-1 {
		first := b.line.takeAll()
		b.guard.Unlock()
		number(first)
		grantAll(first)
		return b.parties - 1, nil
	}
	w := newWaiter()
	err := b.line.waitAs(w, &b.guard, u)
	place := int(w.note)
	w.free()
	if err != nil {
		return -1, err
	}
	return place, nil
}

// number notes the places, from 0, of those whom takeAll has returned.
func number(first *waiter) {
	place := uint64(0)
	for w := first; w != nil; w = w.next {
		w.note = place
		place++
	}
}
