package fibersync

import (
	"errors"
	"fmt"

	"fiberlab/sched/park"
)

// ErrUnfinished is the error of a future whose function will not return.
var ErrUnfinished = errors.New("the function has panicked or called runtime.Goexit")

// begin has f called beside the caller: by another fiber of its scheduler, or on a goroutine
// if the caller is none, which OnGoroutine is told. It does not wait for f. The error, if any, is the scheduler's.
func begin(f func()) error {
	if p := owner(); p != nil {
		return p.Start(f)
	}
	tellOfGoroutine()
	go f()
	return nil
}

// owner is the party to whose scheduler the caller belongs: itself, if it is a fiber, or the one for
// which it makes a blocking call; nil if there is none.
func owner() park.Parker {
	if p := park.Current(); p != nil {
		return p
	}
	return park.Caller()
}

// beginAnywhere is begin that takes a goroutine if the scheduler cannot start f.
func beginAnywhere(f func()) {
	if begin(f) != nil {
		tellOfGoroutine()
		go f()
	}
}

// Async has f called beside the caller, as a task of its scheduler or on a goroutine, and
// returns the future of what f returns; flare's Async. It does not block. If f cannot be
// started, the future has the scheduler's error.
//
// A panic of f is like a task's or a goroutine's: it is not for those who wait. If the
// program goes on all the same, they get an error that wraps ErrUnfinished. Async panics with
// an error that wraps ErrNilFunc if f is nil.
func Async[T any](f func() (T, error)) *Future[T] {
	if f == nil {
		panic(fmt.Errorf("fibersync: async: %w", ErrNilFunc))
	}
	p := new(Promise[T])
	p.begin(f)
	return p.Future()
}

// Then has g called with what f has got, once f is settled, and returns the future of what g
// returns. g runs beside whoever settles f, as a task of its scheduler or on a goroutine;
// beside the caller if f is settled already. So g may block. It is called also if f has
// failed. Its panic is treated as that of a function of Async, and so is nil in its place.
func Then[T, U any](f *Future[T], g func(T, error) (U, error)) *Future[U] {
	if g == nil {
		panic(fmt.Errorf("fibersync: then: %w", ErrNilFunc))
	}
	p := new(Promise[U])
	f.whenSettled(func() {
		p.begin(func() (U, error) { return g(f.value, f.err) })
	})
	return p.Future()
}

// begin starts f, which settles the promise by what it returns.
func (p *Promise[T]) begin(f func() (T, error)) {
	err := begin(func() {
		returned := false
		defer func() {
			if !returned {
				p.Fail(fmt.Errorf("fibersync: async: %w", ErrUnfinished))
			}
		}()
		v, err := f()
		returned = true
		p.future.settle(v, err)
	})
	if err != nil {
		p.Fail(fmt.Errorf("fibersync: async: %w", err))
	}
}
