package fibersync

import (
	"errors"
	"sync"
	"sync/atomic"

	"fiberlab/sched/park"
)

// forked is some functions that one caller waits for. It has a helper for each function but
// one: a task, or a goroutine if the caller has no scheduler or that does not accept the task.
// A helper calls the first function that has not been taken, if there is one. The caller takes
// one after the other, and may leave none to helpers that begin late. As it takes at least one,
// there are always as many helpers to come as there are functions that have not been taken. So
// the functions may wait for one another, and Goexit may end the caller in one.
type forked struct {
	call   func(i int)
	count  int64
	next   atomic.Int64 // the first function that is not taken; from forkOver on, all have returned
	left   Latch        // functions that have not returned; in a strict fork, also helpers that have not begun
	shared *park.Shared // the caller's
	strict bool         // the caller waits for all helpers to begin

	mu   sync.Mutex
	errs []error // by function; nil: none
}

// forkOver is added to forked.next when all functions have returned.
const forkOver = 1 << 62

// A scheduler counts its late helpers, which will begin after their forks have ended. They have nothing
// to do, but they fill queues. When there are too many, a fork is strict: its caller waits until
// its helpers have begun, and so lets the worker drain the queue. Tasks that run meanwhile may
// fork too, so each strict fork permits as many late helpers again before the next fork is strict.

// goroutines has the counts of all callers without a scheduler.
var goroutines park.Shared

func ownShared() *park.Shared {
	if m, ok := callersFiber().(park.Scheduled); ok {
		return m.Shared()
	}
	return &goroutines
}

// mostLate is how many late helpers are permitted, and again for each strict fork that waits.
const mostLate = 1024

// fork calls call(0) to call(count-1), and returns when all have returned.
func fork(count int, call func(i int)) {
	if count == 0 {
		return
	}
	shared := ownShared()
	f := &forked{call: call, count: int64(count), shared: shared, strict: shared.Late.Load() > mostLate*(shared.Strict.Load()+1)}
	f.left.left = count
	if f.strict {
		shared.Strict.Add(1)
		f.left.left += count - 1
	}
	for range count - 1 {
		startAnywhere(f.help)
	}
	taken, last, goexit := int64(0), int64(0), true
	defer func() {
		f.join(taken)
		if goexit && f.errs != nil {
			f.errs[last] = nil // it goes on when this returns
		}
		if err := errors.Join(f.errs...); err != nil {
			panic(err)
		}
	}()
	for more := true; more; {
		last = f.next.Add(1) - 1
		taken++
		more = f.takeOne(last)
	}
	goexit = false
}

// join waits until all functions have returned. taken is what the caller has added to next.
func (f *forked) join(taken int64) {
	f.left.Wait()
	f.call = nil // late helpers keep f alive
	begun := f.next.Add(forkOver) - forkOver - taken
	f.shared.Late.Add(f.count - 1 - begun)
	if f.strict {
		f.shared.Strict.Add(-1)
	}
}

// help is the body of a helper.
func (f *forked) help() {
	if f.strict {
		f.left.CountDown()
	}
	i := f.next.Add(1) - 1
	if i >= forkOver {
		f.shared.Late.Add(-1)
		return
	}
	f.takeOne(i)
}

// takeOne calls function i, and returns false if there is none of that number.
func (f *forked) takeOne(i int64) bool {
	if i >= f.count {
		return false
	}
	watch(func() { f.call(int(i)) }, func(err error) {
		if err != nil {
			f.mu.Lock()
			if f.errs == nil {
				f.errs = make([]error, f.count)
			}
			f.errs[i] = err
			f.mu.Unlock()
		}
		f.left.CountDown()
	})
	return true
}
