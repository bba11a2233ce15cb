package fibersync

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"fiberlab/internal/release"
	"fiberlab/sched/park"
)

// waiter is one stay in one line. Get one by newWaiter; line.wait gives it back.
type waiter struct {
	party   park.Parker
	granted atomic.Uint64 // 1 once it is, by whoever took it out of the line
	note    uint64        // the primitive's own: what is waited for, or what was granted
	missed  int           // how often it was handed a Mutex and did not come; its guard guards it

	// Guarded by the guard of the line.
	line           *line // nil: in none
	next, previous *waiter

	whole any // the *offer[T] that this is part of, in a line of a channel

	// A plain goroutine waits as self, which goes to the next one when the wait is over. Therefore it
	// parks once even if it has been granted already: that uses the Unpark that comes with the grant.
	self *park.Goroutine
	lent bool // party is self
}

var waiters = sync.Pool{New: func() any { return new(waiter) }}

// newWaiter is the caller's, for one wait. It is not freed by defer: if a context panics, its
// waiter may still stand in line, and must not come to others.
func newWaiter() *waiter {
	p := park.Current()
	w, ok := takeSpare[waiter](p)
	if !ok {
		w = waiters.Get().(*waiter)
	}
	w.beginAs(p)
	return w
}

// takeSpare takes what p, which is nil or the caller, has left of its last wait, if that is a W.
func takeSpare[W any](p park.Parker) (w *W, ok bool) {
	if p == nil {
		return nil, false
	}
	spare := p.WaiterSlot()
	if spare == nil {
		return nil, false
	}
	if w, ok = (*spare).(*W); ok {
		*spare = nil
	}
	return w, ok
}

// leaveAsSpare makes w, which is in no line, nobody's, and leaves whole, that it is part of, to
// the party whose it was. It returns false if that has something already, or no place for it.
func (w *waiter) leaveAsSpare(whole any) bool {
	spare := w.party.WaiterSlot()
	w.party = nil
	if spare == nil || *spare != nil {
		return false
	}
	*spare = whole
	return true
}

// reset makes w ready to stand in line, again or for the first time. It must be in none.
func (w *waiter) reset() {
	release.Store(&w.granted, 0)
	w.note = 0
}

// begin makes the waiter, which is in no line, the caller's.
func (w *waiter) begin() { w.beginAs(park.Current()) }

// beginAs is begin by a caller who knows itself to be p; nil: a plain goroutine.
func (w *waiter) beginAs(p park.Parker) {
	w.reset()
	w.missed = 0
	w.party, w.lent = p, p == nil
	if !w.lent {
		return
	}
	if w.self == nil {
		w.self = park.NewGoroutine()
	}
	w.party = w.self
}

// free gives the waiter back. It must be in no line.
func (w *waiter) free() {
	if !w.leaveAsSpare(w) {
		waiters.Put(w)
	}
}

// grant tells the waiter, which has been taken out of its line, that it has what it
// waits for. w must not be used afterwards: it may stand in another line by then. The
// guard is better not held: who is granted something may want it at once.
func (w *waiter) grant() {
	party := w.party
	release.Store(&w.granted, 1)
	party.Unpark()
}

// await parks the caller, whose waiter w is, until w has been granted, or until u is
// over, and returns u's error then. No guard must be held.
func (w *waiter) await(u until) error {
	if u.endless() {
		for first := w.lent; first || !w.isGranted(); first = false {
			w.party.Park(time.Time{})
		}
		return nil
	}
	return w.awaitUntil(u)
}

func (w *waiter) isGranted() bool { return w.granted.Load() != 0 }

// awaitUntil is await with a u that ends.
func (w *waiter) awaitUntil(u until) error {
	w.self, w.lent = nil, false // an Unpark may come when the wait is over
	if u.ctx != nil && u.ctx.Done() != nil && u.ctx.Err() == nil {
		stop := context.AfterFunc(u.ctx, w.party.Unpark)
		defer stop()
	}
	for alarm := u.earliest(); !w.isGranted(); alarm = u.alarmAfter(alarm) {
		if err := u.over(); err != nil {
			return err
		}
		w.party.Park(alarm)
	}
	return nil
}

// until says how long a wait may last, by a context or a deadline. The zero value is
// for ever.
type until struct {
	ctx      context.Context
	deadline time.Time
}

// within is until ctx is over. It panics if ctx is nil or, as it is asked something here,
// if it is made of nil: before its caller stands in a line, where it could not stay.
func within(ctx context.Context) until {
	if ctx == nil {
		panic(fmt.Errorf("fibersync: wait with a context: %w", ErrNilContext))
	}
	_, _ = ctx.Deadline()
	return until{ctx: ctx}
}

// by is until deadline. The zero time is long past.
func by(deadline time.Time) until {
	if deadline.IsZero() {
		deadline = deadline.Add(1)
	}
	return until{deadline: deadline}
}

// earliest is when u is likely to be over, or the zero time if it has no deadline.
func (u until) earliest() time.Time {
	if u.ctx != nil {
		if d, ok := u.ctx.Deadline(); ok && (u.deadline.IsZero() || d.Before(u.deadline)) {
			return d
		}
	}
	return u.deadline
}

// overdue is how long one waits at a time for a context that is not over although its deadline has
// passed. Its end is told by an Unpark; so this is for a context that tells nobody.
const overdue = 10 * time.Millisecond

// alarmAfter is when to look again whether u is over, after alarm.
func (u until) alarmAfter(alarm time.Time) time.Time {
	if u.ctx == nil || alarm.IsZero() {
		return alarm
	}
	if now := time.Now(); !now.Before(alarm) {
		return now.Add(overdue)
	}
	return alarm
}

// over returns why the wait may last no longer, or nil. A context alone says that it is over,
// which may be later than its deadline: callers who look at it find the same.
func (u until) over() error {
	if u.ctx != nil {
		if err := u.ctx.Err(); err != nil {
			return err
		}
	}
	if !u.deadline.IsZero() && !time.Now().Before(u.deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

func (u until) endless() bool {
	return (u.ctx == nil || u.ctx == context.Background()) && u.deadline.IsZero()
}
