package fibersync

import (
	"errors"
	"sync"
	"sync/atomic"

	"fiberlab/sched/park"
)

// forked is some functions that one caller waits for. Beside the caller there is a helper
// for each function but one: a task, or a goroutine if the caller has no scheduler or that
// accepts no task. A helper calls the first function that nobody has taken, if any. The
// caller takes one after the other, and may leave none to helpers that begin late. As it
// takes one at least, there are always as many helpers to come as there are functions
// that nobody has taken; so these may wait for one another, and the caller may end in one.
type forked struct {
	call   func(i int)
	count  int64
	next   atomic.Int64 // the first function that is not taken; from forkOver on, the fork is over
	left   Latch        // functions that have not returned; in a strict fork, helpers to begin too
	shared *park.Shared // the caller's
	strict bool         // the caller waits for all helpers to begin

	mu   sync.Mutex
	errs []error // by function; nil if there are none
}

// forkOver is added to forked.next when all functions have returned.
const forkOver = 1 << 62

// A scheduler counts its late helpers, who will begin after their forks are over. They have nothing to
// do, but lie in queues. When there are too many, a fork is strict: its caller, which does not go
// on before its own helpers have begun, lets the queue come round. What it meets there may
// fork in its turn, so each strict fork allows for as many late helpers again before
// the next one is.

// goroutines has the counts of all who have no scheduler.
var goroutines park.Shared

func ownShared() *park.Shared {
	if m, ok := callersFiber().(park.Scheduled); ok {
		return m.Shared()
	}
	return &goroutines
}

// mostLate is how many late helpers there may be for each strict fork, and one more.
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

// join waits until all functions have returned. taken is what the caller has added to
// next.
func (f *forked) join(taken int64) {
	f.left.Wait()
	f.call = nil // late helpers keep f
	begun := f.next.Add(forkOver) - forkOver - taken
	f.shared.Late.Add(f.count - 1 - begun)
	if f.strict {
		f.shared.Strict.Add(-1)
	}
}

// help is what a helper does.
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

// takeOne calls function i, and returns false if there is none of this number.
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
