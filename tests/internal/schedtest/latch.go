package schedtest

import (
	"sync"

	"fiberlab/sched"
)

// Latch opens when Done has been called as often as NewLatch was told. A fiber that waits for it blocks no thread.
type Latch struct {
	mu      sync.Mutex
	left    int
	open    chan struct{}
	waiters []*sched.Fiber
}

// NewLatch returns a latch that n calls of Done open.
func NewLatch(n int) *Latch { return &Latch{left: n, open: make(chan struct{})} }

// Done counts one.
func (l *Latch) Done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left--; l.left != 0 {
		return
	}
	close(l.open)
	for _, f := range l.waiters {
		f.Notify()
	}
}

// Wait blocks the calling fiber, or goroutine, until the latch is open.
func (l *Latch) Wait() {
	f := sched.Current()
	if f == nil {
		<-l.open
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiters = append(l.waiters, f)
	f.Wait(&l.mu, func() bool { return l.left == 0 })
}

// IsOpen reports whether the latch is open, without blocking.
func (l *Latch) IsOpen() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.left == 0
}

// Opened is closed when the latch opens.
func (l *Latch) Opened() <-chan struct{} { return l.open }
