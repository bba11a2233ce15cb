package park

import (
	"sync/atomic"
	"time"
)

// Goroutine is a plain goroutine's Party. It belongs to one goroutine at a time, which
// may hand it to another when it is not parked: an Unpark that comes late then makes a
// Park of the other one return for no reason, which every caller of Park allows for.
type Goroutine struct {
	unparked atomic.Bool   // an Unpark has not been used: its token is in the channel or on its way
	token    chan struct{} // holds one
	timer    *time.Timer
}

// NewGoroutine returns a Party for a goroutine.
func NewGoroutine() *Goroutine { return &Goroutine{token: make(chan struct{}, 1)} }

// Park implements [Party].
func (g *Goroutine) Park(deadline time.Time) {
	if deadline.IsZero() {
		<-g.token
		g.unparked.Store(false)
		return
	}
	if left := time.Until(deadline); g.timer == nil {
		g.timer = time.NewTimer(left)
	} else {
		g.timer.Reset(left)
	}
	select {
	case <-g.token:
		g.unparked.Store(false)
		g.timer.Stop()
	case <-g.timer.C:
	}
}

// Unpark implements [Party].
//
// Whether an Unpark is kept already is asked of unparked, and not of the channel by a send that
// gives up: that looks before others can see what the caller has stored, and he who has just
// used the token would neither see it nor find another token.
func (g *Goroutine) Unpark() {
	if !g.unparked.Swap(true) {
		g.token <- struct{}{}
	}
}

// Start implements [Party].
func (g *Goroutine) Start(f func()) error {
	go f()
	return nil
}

// Spare implements [Party]. A goroutine has no place of its own: whoever waits brings the Goroutine.
func (g *Goroutine) Spare() *any { return nil }
