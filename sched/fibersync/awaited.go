package fibersync

import (
	"fmt"

	"fiberlab/sched/park"
)

// announce tells w's parker, which must be the caller, what it is about to park for; see [park.Scheduled]. Park forgets
// it each time.
func (w *waiter) announce() {
	if w.what == nil {
		return
	}
	if t, ok := w.parker.(park.Scheduled); ok {
		t.Awaits(w.what)
	}
}

// The primitives as they describe themselves to a report of a deadlock.
type (
	awaitedMutex          Mutex
	awaitedRWMutex        RWMutex
	awaitedReaders        RWMutex
	awaitedSemaphore      Semaphore
	awaitedCond           Cond
	awaitedChannel[T any] Channel[T]
)

func (m *awaitedMutex) Awaited() (string, uintptr) {
	return fmt.Sprintf("the mutex %p", m), m.holder.who()
}

func (m *awaitedRWMutex) Awaited() (string, uintptr) {
	return fmt.Sprintf("the mutex %p, which a writer holds or wants", m), m.writer.holder.who()
}

func (m *awaitedReaders) Awaited() (string, uintptr) {
	return fmt.Sprintf("the %d readers of the mutex %p", m.state.Load()/rwReader, m), 0
}

func (s *awaitedSemaphore) Awaited() (string, uintptr) {
	return fmt.Sprintf("the semaphore %p of %d units", s, s.units), 0
}

func (c *awaitedCond) Awaited() (string, uintptr) { return fmt.Sprintf("the condition %p", c), 0 }

func (c *awaitedChannel[T]) Awaited() (string, uintptr) {
	return fmt.Sprintf("the channel %p of capacity %d", c, len(c.buffer)), 0
}
