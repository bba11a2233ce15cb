package sched

import (
	"sync"
	"sync/atomic"
	"time"

	"fiberlab/internal/clock"
	"fiberlab/internal/release"
)

// counter counts what one thread does, and any thread may read it.
type counter struct{ n atomic.Uint64 }

func (c *counter) add(n uint64) { release.Store(&c.n, c.n.Load()+n) }

func (c *counter) load() uint64 { return c.n.Load() }

// counts is what a worker's thread counts. Blocked and waiting fibers may go on on another worker: only the sums over all
// workers have a meaning then.
type counts struct {
	tasks, switches, stolen, sleeps counter

	tasksDone  counter // tasks that have ended
	rests      counter // how often it has run out of what it could run
	made, gone counter // fibers made, and ended, on this worker
	idling     counter // fibers that are Idle
	pinned     counter // its own tasks that have not begun
	blocked    counter // fibers that are Yielded or Waiting, or Queued after that
	waiting    counter // those of them that have a deadline

	times times
}

// times is how long a worker has been busy and idle.
type times struct {
	mu         sync.Mutex
	busy, idle time.Duration // before since
	since      clock.Instant // the last change between busy and idle
	resting    bool          // it is idle
	ended      bool
}

// begin says that the worker begins, busy.
func (t *times) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.since = clock.Now()
}

// rest says that the worker has run out of work.
func (t *times) rest() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.change(true)
}

// work says that the worker has found some, or ends.
func (t *times) work() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.change(false)
}

// change makes the worker idle or busy from now on. The lock must be held.
func (t *times) change(resting bool) {
	now := clock.Now()
	if t.resting {
		t.idle += time.Duration(now - t.since)
	} else {
		t.busy += time.Duration(now - t.since)
	}
	t.since, t.resting = now, resting
}

// end says that the worker has ended: its times stand still.
func (t *times) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.change(t.resting)
	t.ended = true
}

// read returns both until now.
func (t *times) read() (busy, idle time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		t.change(t.resting)
	}
	return t.busy, t.idle
}
