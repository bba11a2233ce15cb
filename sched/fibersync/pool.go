package fibersync

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// ErrReturned is the error of a loan that is used after it has been returned.
var ErrReturned = errors.New("the loan has been returned: borrow again")

// Items says how a pool makes and resets its items, of type T. The zero value serves for items
// whose zero value is ready.
type Items[T any] struct {
	// Make makes an item. Nil: it is the zero T.
	Make func() T

	// Reset prepares a returned item for its next borrower. It runs on the caller of Return
	// with no lock held, and may block. If it panics, the item
	// goes back as it is. Nil: items are lent as they were left, marl's
	// PoolPolicy::Preserve. A Reset that makes the item anew is PoolPolicy::Reconstruct.
	Reset func(*T)
}

func (i *Items[T]) fresh() T {
	if i.Make == nil {
		var zero T
		return zero
	}
	return i.Make()
}

// Loan is a borrowed item, until it is returned. A Loan may be copied, and any copy may return
// it; all copies are one loan. A loan that is never returned is an item that the pool has lost.
// The zero value is no loan, and counts as returned.
type Loan[T any] struct {
	item   *item[T]
	number uint64 // of this loan of the item
}

// item is an item of a pool.
type item[T any] struct {
	value    T
	returned atomic.Uint64 // how many loans of it have ended
	pool     interface{ takeBack(*item[T]) }
	reset    func(*T)
	next     *item[T] // in the pool's stack; the pool's mu guards it
}

// lend begins a loan of the item, which has been taken out of its pool.
func (i *item[T]) lend() Loan[T] { return Loan[T]{item: i, number: i.returned.Load()} }

// Holds reports whether the loan has an item: it was borrowed, and no copy of the loan has been
// returned. It does not block.
func (l Loan[T]) Holds() bool { return l.item != nil && l.item.returned.Load() == l.number }

// Get returns the item, which belongs to the borrower until the loan is returned. It panics
// with an error that wraps ErrReturned if it has been.
func (l Loan[T]) Get() *T {
	if !l.Holds() {
		panic(fmt.Errorf("fibersync: get the item of a loan: %w", ErrReturned))
	}
	return &l.item.value
}

// Return gives the item back, to the caller that has waited longest for one. It blocks no
// longer than Items.Reset does. It panics with an error that wraps ErrReturned if the loan has
// been returned, by this copy or another; of several that do so at once, all but one panic.
func (l Loan[T]) Return() {
	i := l.item
	if i == nil || !i.returned.CompareAndSwap(l.number, l.number+1) {
		panic(fmt.Errorf("fibersync: return a loan: %w", ErrReturned))
	}
	if i.reset == nil {
		i.pool.takeBack(i)
		return
	}
	defer i.pool.takeBack(i)
	i.reset(&i.value)
}

// stack holds free items. The last to come is the first to go, as it may still be in a cache.
// The pool's mu guards it.
type stack[T any] struct{ top *item[T] }

func (s *stack[T]) push(i *item[T]) { s.top, i.next = i, s.top }

func (s *stack[T]) pop() *item[T] {
	i := s.top
	if i != nil {
		s.top, i.next = i.next, nil
	}
	return i
}
