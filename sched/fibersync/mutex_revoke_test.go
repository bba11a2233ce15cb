package fibersync

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched/park"
)

// standIn is a fiber of which only the thread is known. It never runs.
type standIn struct {
	park.Scheduled
	thread any
	arena  *park.Arena
}

func (s *standIn) Thread() any        { return s.thread }
func (s *standIn) Arena() *park.Arena { return s.arena }
func (s *standIn) Unpark()            {}

// The chosen waiter's worker is busy. Of the others, in whatever order they have come, a goroutine can run first, then
// a fiber that may migrate, then a fiber of another worker. A fiber of the same worker cannot run.
func TestMutexPicksAWaiterThatCanRun(t *testing.T) {
	arena, busy, other := new(park.Arena), "the busy worker", "another worker"
	fiberOn := func(thread any) *waiter { return &waiter{parker: &standIn{thread: thread, arena: arena}} }
	same, pinned := fiberOn(busy), fiberOn(other)
	migrating, goroutine := fiberOn(park.AnyThread()), &waiter{parker: park.NewGoroutine()}
	for _, order := range [][]*waiter{{same, pinned, migrating, goroutine}, {goroutine, migrating, pinned, same}} {
		var m Mutex
		m.mu.Lock()
		m.chosen.on = busy
		for _, w := range order {
			m.waiters.push(w)
		}
		for _, want := range []*waiter{goroutine, migrating, pinned} {
			require.Same(t, want, m.pickOther())
			m.waiters.remove(want)
		}
		assert.Nil(t, m.pickOther(), "a waiter of the busy worker was picked")
		m.waiters.remove(same)
		m.mu.Unlock()
	}
}

// All workers are busy for which the chosen fiber, which may migrate, has to wait: a goroutine gets the lock.
func TestMutexOfAMigratingFiberIsRevoked(t *testing.T) {
	migrating := &waiter{parker: &standIn{thread: park.AnyThread(), arena: new(park.Arena)}}
	var m Mutex
	m.Lock()
	require.False(t, m.takeOrQueue(migrating))
	got := make(chan struct{})
	go func() {
		m.Lock()
		close(got)
		m.Unlock()
	}()
	for waiting := 1; waiting < 2; {
		m.mu.Lock()
		waiting = m.waiters.length
		m.mu.Unlock()
	}
	m.Unlock() // wakes the fiber, which does not run
	<-got      // never, if it is waited for
}
