package fibersync

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// A wait for any of several events leaves nothing in their queues, whether it has a signal or has ended in vain.
func TestWaitAnyLeavesNoEntry(t *testing.T) {
	var a, b Event
	over, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := WaitAnyContext(over, &a, &b)
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, a.waiters.empty() && b.waiters.empty(), "entries of a wait in vain")

	fired := make(chan int)
	go func() { fired <- WaitAny(&a, &b) }()
	for waits := false; !waits; {
		b.mu.Lock()
		waits = !b.waiters.empty()
		b.mu.Unlock()
	}
	b.Signal()
	require.Equal(t, 1, <-fired)
	require.True(t, a.waiters.empty(), "the entry of the event that was not signalled")
}
