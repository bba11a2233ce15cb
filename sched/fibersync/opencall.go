package fibersync

import (
	"math/rand/v2"
	"runtime"

	"fiberlab/internal/debug"
	"fiberlab/internal/spinlock"
	"fiberlab/sched/park"
)

// openCall is a call that waits to be claimed: by a helper, which is a task, or by the caller that has opened it and
// takes it back. It is in a list as long as its status is NotStarted.
type openCall struct {
	status         *status
	call           interface{ begin() } // begin makes the call, on the party that has claimed it
	next, previous *openCall
}

// openCalls is the list of open calls of one arena, the oldest first. Helpers are started so that these hold whenever
// mu is free:
//
//	a call is open           =>  a helper that has not begun is under way
//	a helper is under way    =>  it is the only one that has not begun
//
// A helper takes the oldest call. If more are open, it starts the next helper before it begins its call. So each
// open call is begun in the end, even if the calls wait for one another. At most one helper that will find nothing is
// in a queue, however many calls were taken back.
//
// A caller without an arena has a list for each set of calls that it opens. Its helpers are goroutines, and a goroutine
// inherits its labels and its bubble (testing/synctest) from the goroutine that has started it. So a helper may make no
// other caller's calls.
type openCalls struct {
	arena *park.Arena // nil: none
	help  func()      // the body of the helpers of an arena

	mu          spinlock.Lock
	first, last *openCall
	helped      bool // a helper that has not begun is under way
	told        bool // OnGoroutine has been told that goroutines help; for lists without an arena
}

// callersList returns the list of the caller's arena, or nil if it has none.
func callersList() *openCalls {
	m, ok := callersFiber().(park.Scheduled)
	if !ok {
		return nil
	}
	a := m.Arena()
	a.Opened.Do(func() {
		l := &openCalls{arena: a}
		l.help = l.runHelper
		a.Open = l
	})
	return a.Open.(*openCalls)
}

// push appends c. It returns whether the caller must call startHelper, once mu is free. mu must be held.
func (l *openCalls) push(c *openCall) (start bool) {
	c.previous = l.last
	if l.last != nil {
		l.last.next = c
	} else {
		l.first = c
	}
	l.last = c
	start = !l.helped
	l.helped = true
	return start
}

// claim takes c out of the list and makes it InProgress, unless it has been claimed before. It reports whether it did.
// It does not block.
func (l *openCalls) claim(c *openCall) bool {
	if c.status.get() != NotStarted {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.claimLocked(c)
}

// claimLocked is claim with mu held.
func (l *openCalls) claimLocked(c *openCall) bool {
	if !c.status.claim() {
		return false
	}
	if c.previous != nil {
		c.previous.next = c.next
	} else {
		l.first = c.next
	}
	if c.next != nil {
		c.next.previous = c.previous
	} else {
		l.last = c.previous
	}
	c.next, c.previous = nil, nil
	return true
}

// startHelper starts the helper that push or runHelper has announced. If no scheduler accepts the task, the helper is a
// goroutine.
func (l *openCalls) startHelper() {
	if l.arena != nil {
		if l.arena.Start(l.help) == nil {
			return
		}
		reportGoroutine()
	} else {
		if p := callersFiber(); p != nil && p.Start(l.runHelper) == nil {
			return
		}
		if !l.told {
			l.told = true // one helper after the other comes here
			reportGoroutine()
		}
	}
	go l.runHelper()
}

// runHelper is the body of a helper.
func (l *openCalls) runHelper() {
	l.mu.Lock()
	c := l.first
	if c != nil {
		claimed := l.claimLocked(c)
		if debug.On && !claimed {
			panic("fibersync: an open call is claimed, and still in its list")
		}
	}
	l.helped = l.first != nil
	more := l.helped
	l.mu.Unlock()
	if more {
		l.startHelper()
	}
	if c != nil {
		c.call.begin()
	}
}

// mostLate is how many lists without an arena leave a helper behind that has not begun, on average, before one lets
// goroutines run.
const mostLate = 64

// letHelperBegin keeps a goroutine that opens calls again and again from filling the queues of its processor with
// helpers. Its caller has no call open.
func (l *openCalls) letHelperBegin() {
	if l.arena != nil || rand.Uint32()%mostLate != 0 {
		return
	}
	l.mu.Lock()
	helped := l.helped
	l.mu.Unlock()
	if helped {
		runtime.Gosched()
	}
}
