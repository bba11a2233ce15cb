package park

import (
	"sync"
	"sync/atomic"
	"time"
)

// Goroutine is a plain goroutine's Party. It belongs to one goroutine at a time. That one may
// hand it to another when it has used all that is to come: as many Parks have returned as there
// were calls of Unpark, and none had a deadline. Otherwise a late Unpark makes a Park of the other
// one return for no reason; and if only one of the two is in a bubble of testing/synctest, the
// runtime ends the program.
//
// It blocks by a sync.Cond, which belongs to no bubble, as a channel or a timer does, and in
// which a goroutine of a bubble counts as durably blocked.
type Goroutine struct {
	token atomic.Uint32 // one of the three below
	woken sync.Cond     // its L is the Goroutine, see Unlock
}

const (
	noToken  = iota // no Unpark is kept
	awaited         // nor is one, and the goroutine is in the line of woken
	unparked        // an Unpark has not been used
)

// NewGoroutine returns a Party for a goroutine.
func NewGoroutine() *Goroutine {
	g := new(Goroutine)
	g.woken.L = (*announcer)(g)
	return g
}

// Park implements [Party].
func (g *Goroutine) Park(deadline time.Time) {
	if !deadline.IsZero() {
		alarm := time.AfterFunc(time.Until(deadline), g.Unpark)
		defer alarm.Stop()
	}
	if g.token.Load() != unparked {
		g.woken.Wait()
	}
	g.token.Swap(noToken)
}

// Unpark implements [Party]. When it finds the goroutine in line and wakes it, nothing is left to be
// done afterwards: the Goroutine may be another one's by then.
func (g *Goroutine) Unpark() {
	if g.token.Swap(unparked) == awaited {
		g.woken.Signal()
	}
}

// announcer is what woken has in the place of a lock. A condition releases its lock when the caller is in
// line and every Signal from then on will wake it: the moment to tell that a Signal is wanted.
type announcer Goroutine

// Lock does nothing.
func (*announcer) Lock() {}

// Unlock tells that the goroutine is in line, or wakes it if there has been an Unpark.
func (a *announcer) Unlock() {
	if !a.token.CompareAndSwap(noToken, awaited) {
		a.woken.Signal()
	}
}

// Start implements [Party].
func (g *Goroutine) Start(f func()) error {
	go f()
	return nil
}

// Spare implements [Party]. A goroutine has no place of its own: whoever waits brings the Goroutine.
func (g *Goroutine) Spare() *any { return nil }
