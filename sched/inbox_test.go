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
	require.Equal(t, tasks, q.tasks.Len(), "into an empty queue")

	bring()
	w.look()
	require.Equal(t, tasks, q.tasks.Len(), "before it is the others' turn")
	q.begun = mostBegun
	w.look()
	require.Equal(t, tasks+mostTaken, q.tasks.Len(), "some when it is")
	w.look()
	require.Equal(t, tasks+mostTaken, q.tasks.Len(), "and no more")
	for q.tasks.Len() < 2*tasks {
		q.begun = mostBegun
		w.look()
	}
	require.Zero(t, w.inbox.waiting.Load())
}

// What is kept for its worker is no reason to wake another one, and no thief takes it.
func TestKeptTasksAreNotForThieves(t *testing.T) {
	workers := idleWorkers(t, 2).workers
	w, thief := workers[0], workers[1]
	kept := job{Func: func() {}, Flags: SameThread}
	require.True(t, w.inbox.put(kept))
	require.True(t, w.inbox.put(kept))
	require.Zero(t, w.inbox.forThieves())
	require.False(t, thief.steal(true))
	require.True(t, w.inbox.put(job{Func: func() {}}))
	require.Equal(t, 1, w.inbox.forThieves())
	require.True(t, thief.steal(true))
	require.Zero(t, w.inbox.forThieves())
	require.EqualValues(t, 2, w.inbox.waiting.Load())
	w.work.lock()
	w.look()
	w.work.unlock()
	require.Zero(t, w.inbox.forThieves())
	require.Zero(t, w.inbox.waiting.Load())
	require.Equal(t, 2, w.work.pinned.Len())
}
