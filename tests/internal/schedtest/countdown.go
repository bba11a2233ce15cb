package schedtest

import (
	"sync"
	"sync/atomic"

	"fiberlab/sched"
)

// Countdown lets one goroutine or fiber wait until so many tasks are done. It serves once.
type Countdown struct {
	left   atomic.Int64
	over   chan struct{}
	mu     sync.Mutex
	waiter *sched.Fiber
}

// NewCountdown returns a countdown that n calls of Done end.
func NewCountdown(n int) *Countdown {
	c := &Countdown{over: make(chan struct{})}
	c.left.Store(int64(n))
	return c
}

// Done counts one. It never blocks for long.
func (c *Countdown) Done() {
	if c.left.Add(-1) > 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.over)
	if c.waiter != nil {
		c.waiter.Notify()
	}
}

// Wait blocks the calling fiber, or goroutine, until the count is zero.
func (c *Countdown) Wait() {
	f := sched.Current()
	if f == nil {
		<-c.over
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiter = f
	f.Wait(&c.mu, func() bool { return c.left.Load() == 0 })
}
