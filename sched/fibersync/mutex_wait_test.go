package fibersync

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/sched/park"
)

// A waiter that comes too late begins a new row of hand-offs, however many were left of the last one.
func TestMutexHandOffsAreNoMoreThanARow(t *testing.T) {
	var m Mutex
	m.Lock()
	w := &waiter{parker: park.NewGoroutine()}
	for range 2 {
		require.False(t, m.takeOrRequeue(w, true))
		require.EqualValues(t, mutexHandOffs, m.state.Load()/mutexHandOff)
		m.mu.Lock()
		m.waiters.pop()
		m.state.Add(^uint64(mutexHandOff - 1)) // Unlock has handed it off once
		m.mu.Unlock()
	}
}
