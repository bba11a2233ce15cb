package fibersync

import (
	"fmt"

	"fiberlab/sched/park"
)

// awaits tells the party of w, which must be the caller, what it is going to park for. The
// party may be asked that while it is blocked; see [park.Scheduled].
func (w *waiter) awaits(what park.Awaited) {
	if t, ok := w.party.(park.Scheduled); ok {
		t.Awaits(what)
	}
}

// The primitives, as what is awaited.
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
	return fmt.Sprintf("the mutex %p, which a writer has or wants", m), m.writer.holder.who()
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
