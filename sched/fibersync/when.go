package fibersync

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
)

// ErrNoFutures is the error of a wait for the first of no futures.
var ErrNoFutures = errors.New("there are no futures to wait for: give at least one")

// WhenAll returns a future that is settled when all the given ones are; flare's WhenAll. Its
// value is the list of their values, in the same order. If some have failed, it has failed too,
// with their errors joined in that order, and its list has the values of the others. It does
// not block, and occupies no fiber: the code that settles the last of them settles it.
func WhenAll[T any](futures ...*Future[T]) *Future[[]T] {
	futures = slices.Clone(futures)
	all := new(Promise[[]T])
	var left atomic.Int64
	left.Store(int64(len(futures)) + 1) // the one is this call
	settled := func() {
		if left.Add(-1) > 0 {
			return
		}
		values, errs := make([]T, len(futures)), make([]error, len(futures))
		for i, f := range futures {
			values[i], errs[i] = f.value, f.err
		}
		all.future.settle(values, errors.Join(errs...))
	}
	for _, f := range futures {
		f.whenSettled(settled)
	}
	settled()
	return all.Future()
}

// First tells which of several futures was settled first, and its value.
type First[T any] struct {
	Index int // in the list that WhenAny was given
	Value T
}

// WhenAny returns a future that is settled as soon as one of the given ones is, by its value or
// its error; flare's WhenAny. Of several futures that are settled already it takes the first in the list.
// If none are given, it fails with an error that wraps ErrNoFutures. It does not block. Each of
// the others keeps a reference to the new future until it is settled.
func WhenAny[T any](futures ...*Future[T]) *Future[First[T]] {
	first := new(Promise[First[T]])
	if len(futures) == 0 {
		first.Fail(fmt.Errorf("fibersync: when any: %w", ErrNoFutures))
	}
	for i, f := range futures {
		f.whenSettled(func() { first.future.settle(First[T]{i, f.value}, f.err) })
		if first.future.Ready() {
			break
		}
	}
	return first.Future()
}
