//go:build debug

package sched

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestIllegalTransitionIsCaught(t *testing.T) {
	_, f := planted(t, Stealing)
	f.word.Store(uint64(Yielded))
	require.PanicsWithValue(t, "sched: planted worker 0 fiber 5: illegal transition Yielded -> Running (resume)",
		func() { f.store(f.load().in(Running), WhyResume) })
	require.Equal(t, Yielded, f.State())
	require.Panics(t, func() { f.swap(f.load(), f.load().in(Queued), WhyTimeout) }, "the cause is wrong")
	require.True(t, f.swap(f.load(), f.load().in(Queued), WhyNotify))
}

// What belongs to a worker's thread says so to callers elsewhere.
func TestOwnThingsAreChecked(t *testing.T) {
	w, f := planted(t, Stealing)
	for what, call := range map[string]func(){
		"poll":        w.poll,
		"take":        func() { w.take() },
		"pickNext":    func() { w.pickNext(f) },
		"waitForWork": func() { w.waitForWork(f) },
		"makeIdle":    func() { w.makeIdle() },
	} {
		assert.PanicsWithValue(t, "sched: "+what+" of planted worker 0 on another thread", call)
	}
}
