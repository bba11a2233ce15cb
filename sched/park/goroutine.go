package park

import "time"

// Goroutine is a plain goroutine's Party. It belongs to one goroutine at a time, which
// may hand it to another when it is not parked: an Unpark that comes late then makes a
// Park of the other one return for no reason, which every caller of Park allows for.
type Goroutine struct {
	token chan struct{} // holds one while an Unpark has not been used
	timer *time.Timer
}

// NewGoroutine returns a Party for a goroutine.
func NewGoroutine() *Goroutine { return &Goroutine{token: make(chan struct{}, 1)} }

// Park implements [Party].
func (g *Goroutine) Park(deadline time.Time) {
	if deadline.IsZero() {
		<-g.token
		return
	}
	if left := time.Until(deadline); g.timer == nil {
		g.timer = time.NewTimer(left)
	} else {
		g.timer.Reset(left)
	}
	select {
	case <-g.token:
		g.timer.Stop()
	case <-g.timer.C:
	}
}

// Unpark implements [Party].
func (g *Goroutine) Unpark() {
	select {
	case g.token <- struct{}{}:
	default:
	}
}

// Start implements [Party].
func (g *Goroutine) Start(f func()) error {
	go f()
	return nil
}
