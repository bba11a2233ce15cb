package fibersync

import (
	"context"
	"errors"
	"fmt"

	"fiberlab/internal/spinlock"
)

// ErrNoParties is the error of a barrier for fewer than one party.
var ErrNoParties = errors.New("a barrier needs parties: make it by NewBarrier, with 1 or more")

// Barrier holds its callers up until as many have arrived as it has parties, and then lets them
// go on together. That ends a phase: the next caller belongs to the next phase, even if some of
// the last one have not gone on yet. It must not be copied.
type Barrier struct {
	mu      spinlock.Lock
	parties int
	waiters waitQueue
}

// NewBarrier returns a barrier for so many parties. It panics with an error that wraps
// ErrNoParties if that is less than 1.
func NewBarrier(parties int) *Barrier {
	if parties < 1 {
		panic(fmt.Errorf("fibersync: barrier for %d: %w", parties, ErrNoParties))
	}
	return &Barrier{parties: parties}
}

// Wait blocks the caller until all parties of this phase have arrived. It returns the caller's
// number in the order of arrival: 0 for the first, up to parties-1 for the last, which has not
// been held up. It panics with an error that wraps ErrNoParties if the barrier was not made by
// NewBarrier.
func (b *Barrier) Wait() int {
	i, _ := b.wait(until{})
	return i
}

// WaitContext is Wait that gives up when ctx is done. Then it returns -1 and
// context.Cause(ctx), and it is as if the caller had not arrived: the others wait for another
// caller, or for the same one again. If the last party arrives at the same moment, the caller
// may have been counted; then it goes on with the others and without an error.
func (b *Barrier) WaitContext(ctx context.Context) (int, error) { return b.wait(within(ctx)) }

func (b *Barrier) wait(u until) (int, error) {
	b.mu.Lock()
	if b.parties == 0 {
		b.mu.Unlock()
		panic(fmt.Errorf("fibersync: wait at a barrier: %w", ErrNoParties))
	}
	if b.waiters.length == b.parties-1 {
		first := b.waiters.takeAll()
		b.mu.Unlock()
		number(first)
		handOffAll(first)
		return b.parties - 1, nil
	}
	w := newWaiter(&b.mu)
	err := b.waiters.waitAs(w, &b.mu, u)
	number := int(w.tag)
	w.free()
	if err != nil {
		return -1, err
	}
	return number, nil
}

// number stores the order of arrival, from 0, in the tags of a list that takeAll has returned.
func number(first *waiter) {
	next := uint64(0)
	for w := first; w != nil; w = w.next {
		w.tag = next
		next++
	}
}
