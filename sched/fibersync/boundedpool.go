package fibersync

import (
	"context"
	"fmt"

	"fiberlab/internal/spinlock"
)

// BoundedPool lends a fixed number of items, marl's BoundedPool. Who finds none waits,
// and whoever has waited longest gets the next one. Make one by NewBoundedPool. It must
// not be copied.
type BoundedPool[T any] struct {
	guard spinlock.Lock
	lying stack[T]
	spare int // of those lying, how many have not been granted to anybody
	line  line
}

// NewBoundedPool makes a pool of n items, all of which it makes at once, on the caller. It
// panics with an error that wraps ErrNegative if n is less than 0.
func NewBoundedPool[T any](n int, items Items[T]) *BoundedPool[T] {
	if n < 0 {
		panic(fmt.Errorf("fibersync: pool of %d items: %w", n, ErrNegative))
	}
	p := &BoundedPool[T]{spare: n}
	for range n {
		p.lying.push(&item[T]{value: items.fresh(), home: p, reset: items.Reset})
	}
	return p
}

// Borrow takes an item, and blocks the caller until there is one. Waiters get theirs in
// the order of their coming, and nobody overtakes them.
func (p *BoundedPool[T]) Borrow() Loan[T] {
	loan, _ := p.borrow(until{})
	return loan
}

// BorrowContext is Borrow that gives up when ctx is over, and returns its error then. An
// item that comes at the last moment is taken, and nil returned. An item that lies there
// is lent even if ctx is over.
func (p *BoundedPool[T]) BorrowContext(ctx context.Context) (Loan[T], error) {
	return p.borrow(within(ctx))
}

// TryBorrow takes an item if one lies there that nobody waits for, and tells whether it
// did. It does not block.
func (p *BoundedPool[T]) TryBorrow() (Loan[T], bool) {
	p.guard.Lock()
	defer p.guard.Unlock()
	if p.spare == 0 {
		return Loan[T]{}, false
	}
	p.spare--
	return p.lying.pop().lend(), true
}

// Free returns how many items could be borrowed at some moment during the call.
func (p *BoundedPool[T]) Free() int {
	p.guard.Lock()
	defer p.guard.Unlock()
	return p.spare
}

func (p *BoundedPool[T]) borrow(u until) (Loan[T], error) {
	p.guard.Lock()
	if p.spare > 0 {
		p.spare--
	} else {
		if err := p.line.wait(&p.guard, u); err != nil {
			return Loan[T]{}, err
		}
		p.guard.Lock() // one of those lying is the caller's
	}
	i := p.lying.pop()
	p.guard.Unlock()
	return i.lend(), nil
}

// takeBack grants the item to the first in line, who will find it lying there: which one
// it takes is all the same, as long as there is one for each who has been granted one.
func (p *BoundedPool[T]) takeBack(i *item[T]) {
	p.guard.Lock()
	p.lying.push(i)
	w := p.line.pop()
	if w == nil {
		p.spare++
	}
	p.guard.Unlock()
	if w != nil {
		w.grant()
	}
}
