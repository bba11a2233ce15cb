package uring

import (
	"runtime"
	"time"

	"fiberlab/internal/clock"
)

// slice is how long the engine's thread has run without a decision of the Go scheduler. To package runtime a worker is
// one goroutine that runs for ever. From 10 ms on its monitor wants to preempt that: it takes the P away at each system
// call that it meets, and looks every 20 us in the place of every 10 ms. So a busy engine would spend a sixth of its
// time on getting Ps back. A decision of the scheduler now and then, which takes some 20 us, begins a new slice. See
// retake and sysmon in runtime/proc.go.
type slice struct{ began clock.Instant }

const longestSlice = clock.Instant(8 * time.Millisecond)

// mayEnd begins a new slice if the present one has been long, and returns when it is. Other goroutines may run first;
// the caller must hold nothing that they may need.
func (s *slice) mayEnd(now clock.Instant) clock.Instant {
	if now-s.began <= longestSlice {
		return now
	}
	runtime.Gosched()
	s.began = clock.Now()
	return s.began
}
