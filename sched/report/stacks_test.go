package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/internal/goroutine"
)

// A task that computes may wait for the collector, or in a coroutine of package iter.
func TestWhatBlocksTheThread(t *testing.T) {
	for state, want := range map[string]bool{
		"chan receive": true, "select": true, "sync.Mutex.Lock": true, "sleep": true, "IO wait": true,
		"running": false, "runnable": false, "preempted": false, "coroutine": false,
		"GC assist marking": false, "GC assist wait": false, "wait for GC cycle": false, "stopping the world": false,
		"syscall": false, // in C
	} {
		assert.Equal(t, want, blocksThread(goroutine.Trace{State: state}), state)
	}
}
