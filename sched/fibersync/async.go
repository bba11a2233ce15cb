package fibersync

import (
	"errors"
	"fmt"

	"fiberlab/sched/park"
)

// ErrUnfinished is the error of a future whose function will not return.
var ErrUnfinished = errors.New("the function has panicked or called runtime.Goexit")

// start has f called concurrently with the caller: as a task of the caller's scheduler, or on a goroutine if the caller
// has none; that is reported, see OnGoroutine. It does not wait for f, but for room, if the scheduler limits how many
// tasks wait to begin. It returns the scheduler's error if that does not accept the task.
func start(f func()) error {
	if p := callersFiber(); p != nil {
		return p.Start(f)
	}
	startGoroutine(f)
	return nil
}

// startCallback is start that does not wait for room: its caller settles a future, or gives a ticket back, and may hold
// a lock.
func startCallback(f func()) error {
	if p := callersFiber(); p != nil {
		return p.StartNow(f)
	}
	startGoroutine(f)
	return nil
}

// startGoroutine is start for a caller without a scheduler.
func startGoroutine(f func()) {
	reportGoroutine()
	go f()
}

// callersFiber returns the fiber by which the caller belongs to a scheduler. That is the caller
// itself, or the fiber for which it runs a blocking call. It returns nil if there is none.
func callersFiber() park.Parker {
	if p := park.Current(); p != nil {
		return p
	}
	return park.Caller()
}

// startAnywhere is startCallback that takes a goroutine if the scheduler does not accept f.
func startAnywhere(f func()) {
	if startCallback(f) != nil {
		startGoroutine(f)
	}
}

// Async has f called concurrently with the caller, and returns the future of its results; flare's Async. It does not
// wait for f. f is a task of the caller's scheduler, or a goroutine if the caller has none; AsyncOn chooses the
// scheduler. Async blocks its caller only until there is room for the task, if the scheduler limits that
// (sched.Config.MaxQueued). If f cannot be started, the future has the scheduler's error. The future is InProgress from
// the moment that f begins.
//
// A panic of f has the consequences of a panic of a task or a goroutine; the callers that wait do
// not get it. If the program survives it, they get an error that wraps ErrUnfinished. Async panics
// with an error that wraps ErrNilFunc if f is nil.
func Async[T any](f func() (T, error)) *Future[T] { return async(start, f) }

func async[T any](start func(func()) error, f func() (T, error)) *Future[T] {
	if f == nil {
		panic(fmt.Errorf("fibersync: async: %w", ErrNilFunc))
	}
	p := new(Promise[T])
	p.run("async", start, f)
	return p.Future()
}

// Then has g called with the results of f once f is settled, and returns the future of g's results. g runs concurrently
// with the code that settles f: as a task of that code's scheduler, or on a goroutine if it has none. If f is settled
// already, the caller of Then takes the place of that code. So g may block. Neither that code nor Then waits for room:
// the task is queued even if sched.Config.MaxQueued tasks wait to begin. g is called even if f has failed. If g cannot
// be started, its future has the scheduler's error. A panic of g has the consequences of one in Async. Then panics with
// an error that wraps ErrNilFunc if g is nil.
func Then[T, U any](f *Future[T], g func(T, error) (U, error)) *Future[U] {
	if g == nil {
		panic(fmt.Errorf("fibersync: then: %w", ErrNilFunc))
	}
	p := new(Promise[U])
	f.whenSettled(func() {
		p.run("then", startCallback, func() (U, error) { return g(f.value, f.err) })
	})
	return p.Future()
}

// run starts f, whose results settle the promise. The promise is claimed when f begins. what names the call in errors.
func (p *Promise[T]) run(what string, start func(func()) error, f func() (T, error)) {
	err := start(func() {
		p.Claim()
		returned := false
		defer func() {
			if !returned {
				p.Fail(fmt.Errorf("fibersync: %s: %w", what, ErrUnfinished))
			}
		}()
		v, err := f()
		returned = true
		p.future.settle(v, err)
	})
	if err != nil {
		p.Fail(fmt.Errorf("fibersync: %s: %w", what, err))
	}
}
