package fibersync

import (
	"context"
	"fmt"

	"fiberlab/internal/spinlock"
)

// BoundedPool lends a fixed number of items, marl's BoundedPool. A borrower that finds none
// waits, and the caller that has waited longest gets the next item. Make one by NewBoundedPool. It
// must not be copied.
type BoundedPool[T any] struct {
	mu        spinlock.Lock
	idle      stack[T]
	available int // how many of the idle items are not handed off to a waiter
	waiters   waitQueue
}

// NewBoundedPool returns a pool of n items, which it makes at once, on the caller. It panics
// with an error that wraps ErrNegative if n is less than 0.
func NewBoundedPool[T any](n int, items Items[T]) *BoundedPool[T] {
	if n < 0 {
		panic(fmt.Errorf("fibersync: pool of %d items: %w", n, ErrNegative))
	}
	p := &BoundedPool[T]{available: n}
	for range n {
		p.idle.push(&item[T]{value: items.fresh(), pool: p, reset: items.Reset})
	}
	return p
}

// Borrow takes an item, and blocks the caller until there is one. Waiters get items in the
// order of their arrival, and no caller overtakes them.
func (p *BoundedPool[T]) Borrow() Loan[T] {
	loan, _ := p.borrow(until{})
	return loan
}

// BorrowContext is Borrow that gives up when ctx is done, and returns context.Cause(ctx) then.
// An item that comes at the last moment is taken, and the error is nil. A free item is lent
// even if ctx is done.
func (p *BoundedPool[T]) BorrowContext(ctx context.Context) (Loan[T], error) {
	return p.borrow(within(ctx))
}

// TryBorrow takes an item if one is free, and reports whether it did. It does not block.
func (p *BoundedPool[T]) TryBorrow() (Loan[T], bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.available == 0 {
		return Loan[T]{}, false
	}
	p.available--
	return p.idle.pop().lend(), true
}

// Free returns how many items were free at some moment during the call.
func (p *BoundedPool[T]) Free() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.available
}

func (p *BoundedPool[T]) borrow(u until) (Loan[T], error) {
	p.mu.Lock()
	if p.available > 0 {
		p.available--
	} else {
		if err := p.waiters.wait(&p.mu, u); err != nil {
			return Loan[T]{}, err
		}
		p.mu.Lock() // one of the idle items is the caller's
	}
	i := p.idle.pop()
	p.mu.Unlock()
	return i.lend(), nil
}

// takeBack hands the item off to the first waiter, which finds it among the idle ones. Which
// item a waiter takes does not matter, as long as there is one for each.
func (p *BoundedPool[T]) takeBack(i *item[T]) {
	p.mu.Lock()
	p.idle.push(i)
	w := p.waiters.pop()
	if w == nil {
		p.available++
	}
	p.mu.Unlock()
	if w != nil {
		w.handOff()
	}
}
