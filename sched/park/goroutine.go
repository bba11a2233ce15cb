package park

import (
	"sync"
	"sync/atomic"
	"time"
)

// Goroutine is the Parker of a plain goroutine. It belongs to one goroutine at a time. That
// one may pass it to another when no Unpark can still come: as many Parks have returned as there
// were Unparks, and none had a deadline. Otherwise a late Unpark would make a Park of the next
// goroutine return for no reason. If only one of the two is in a bubble of testing/synctest, the
// runtime would end the program.
//
// It blocks on a sync.Cond. Unlike a channel or a timer, a sync.Cond belongs to no bubble, and a
// goroutine of a bubble that waits for one counts as durably blocked.
type Goroutine struct {
	token atomic.Uint32 // one of the constants below
	woken sync.Cond     // its L is the Goroutine, see Unlock
}

const (
	noToken  = iota // there is no token
	awaited         // there is none, and the goroutine waits on woken
	unparked        // there is a token
)

// NewGoroutine returns a Parker for a goroutine.
func NewGoroutine() *Goroutine {
	g := new(Goroutine)
	g.woken.L = (*announcer)(g)
	return g
}

// Park implements [Parker].
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

// Unpark implements [Parker]. If it finds the goroutine waiting and wakes it, it does not touch g
// afterwards: another goroutine may have it by then.
func (g *Goroutine) Unpark() {
	if g.token.Swap(unparked) == awaited {
		g.woken.Signal()
	}
}

// announcer is the lock of woken. A condition releases its lock when every later Signal will wake
// the caller; that is the moment to announce that a Signal is needed.
type announcer Goroutine

// Lock does nothing.
func (*announcer) Lock() {}

// Unlock announces that the goroutine waits, or wakes it if there is a token.
func (a *announcer) Unlock() {
	if !a.token.CompareAndSwap(noToken, awaited) {
		a.woken.Signal()
	}
}

// Start implements [Parker].
func (g *Goroutine) Start(f func()) error {
	go f()
	return nil
}

// StartNow implements [Parker].
func (g *Goroutine) StartNow(f func()) error { return g.Start(f) }

// CanPark implements [Parker]. A goroutine may park at any time.
func (g *Goroutine) CanPark() error { return nil }

// WaiterSlot implements [Parker]. A goroutine has no slot.
func (g *Goroutine) WaiterSlot() *any { return nil }
