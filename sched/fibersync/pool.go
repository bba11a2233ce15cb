package fibersync

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// ErrReturned is the error of a loan that is used although it has been returned.
var ErrReturned = errors.New("the loan has been returned: borrow again")

// Items says how a pool comes by its items, of type T. The zero value is good for items
// that are of use as the zero T.
type Items[T any] struct {
	// Make makes an item. Nil: it is the zero T.
	Make func() T

	// Reset makes an item that comes back good for the next one who borrows it. It runs
	// on whoever returns the item, under no lock, and may block. If it panics, the item
	// goes back as it is. Nil: items are lent as they were left, marl's
	// PoolPolicy::Preserve; a Reset that makes the item anew is PoolPolicy::Reconstruct.
	Reset func(*T)
}

func (i *Items[T]) fresh() T {
	if i.Make == nil {
		var zero T
		return zero
	}
	return i.Make()
}

// Loan is an item that somebody has borrowed, until it is returned. It may be copied, and
// handed to somebody else to return it; all copies are one loan. A loan that is lost is
// an item that the pool has lost. The zero value is no loan, and counts as returned.
type Loan[T any] struct {
	item   *item[T]
	number uint64 // of this loan of the item
}

// item is one that a pool lends.
type item[T any] struct {
	value    T
	returned atomic.Uint64 // how many loans of it are over
	home     interface{ takeBack(*item[T]) }
	reset    func(*T)
	next     *item[T] // in the pool's stack; its guard guards it
}

// lend begins a loan of the item, which must have been taken out of its pool.
func (i *item[T]) lend() Loan[T] { return Loan[T]{item: i, number: i.returned.Load()} }

// Holds tells whether the loan has an item: whether it was borrowed and has not been
// returned yet, by whomever. It does not block.
func (l Loan[T]) Holds() bool { return l.item != nil && l.item.returned.Load() == l.number }

// Get returns the item, which is the borrower's until the loan is returned. It panics
// with an error that wraps ErrReturned if that has been done.
func (l Loan[T]) Get() *T {
	if !l.Holds() {
		panic(fmt.Errorf("fibersync: get the item of a loan: %w", ErrReturned))
	}
	return &l.item.value
}

// Return gives the item back, to whoever has waited longest for one. It blocks no longer
// than Items.Reset does. It panics with an error that wraps ErrReturned if the loan has
// been returned, by whomever; of several who do so at once, all but one panic.
func (l Loan[T]) Return() {
	i := l.item
	if i == nil || !i.returned.CompareAndSwap(l.number, l.number+1) {
		panic(fmt.Errorf("fibersync: return a loan: %w", ErrReturned))
	}
	if i.reset == nil {
		i.home.takeBack(i)
		return
	}
	defer i.home.takeBack(i)
	i.reset(&i.value)
}

// stack is items of which the one that came last is taken first: it may still be in a
// cache. The guard of its pool guards it.
type stack[T any] struct{ top *item[T] }

func (s *stack[T]) push(i *item[T]) { s.top, i.next = i, s.top }

func (s *stack[T]) pop() *item[T] {
	i := s.top
	if i != nil {
		s.top, i.next = i.next, nil
	}
	return i
}
