package sched

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A worker that has tasks of its own takes some of the inbox, so that nobody waits long for
// its lock; one that has none takes them all.
func TestLookTakesFromTheInbox(t *testing.T) {
	const tasks = 10 * mostTaken
	w := idleWorkers(t, 1).workers[0]
	q := &w.work
	q.lock()
	defer q.unlock()
	bring := func() {
		for range tasks {
			require.True(t, w.inbox.put(job{Func: func() {}}))
		}
	}
	bring()
	w.look()
	require.Equal(t, tasks, q.tasks.count, "into an empty queue")

	bring()
	w.look()
	require.Equal(t, tasks, q.tasks.count, "before it is the others' turn")
	q.begun = mostBegun
	w.look()
	require.Equal(t, tasks+mostTaken, q.tasks.count, "some when it is")
	w.look()
	require.Equal(t, tasks+mostTaken, q.tasks.count, "and no more")
	for q.tasks.count < 2*tasks {
		q.begun = mostBegun
		w.look()
	}
	require.Zero(t, w.inbox.waiting.Load())
}
