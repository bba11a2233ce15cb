package sched

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/internal/clock"
)

// A wake that comes before the wait is kept, and each ends one wait.
func TestWaitSlotKeepsWakes(t *testing.T) {
	var s waitSlot
	s.init()
	for range 3 {
		s.wake()
	}
	for left := uint32(3); left > 0; left-- {
		s.wait(-1, false)
		require.Equal(t, left, s.count.Load())
	}
}

// A wait that its deadline ends gives its count back: the next wake is for the next wait.
func TestWaitSlotGivesItsCountBack(t *testing.T) {
	var s waitSlot
	s.init()
	for _, limit := range []time.Duration{0, time.Millisecond, 0} {
		end := clock.After(limit)
		s.wait(limit, false)
		require.GreaterOrEqual(t, clock.Now(), end)
		require.EqualValues(t, 1, s.count.Load())
	}
	s.wake()
	s.wait(-1, false)
	require.EqualValues(t, 1, s.count.Load())
}

// Wakes meet deadlines: whichever comes first, a wait without a limit that follows is ended by its wake.
func TestWaitSlotWakesAgainstDeadlines(t *testing.T) {
	var s waitSlot
	s.init()
	total := rounds(3_000)
	var asked, heard atomic.Int64
	done := make(chan struct{}, 2)
	go func() {
		for n := int64(1); n <= total; n++ {
			for asked.Load() < n {
				runtime.Gosched()
			}
			heard.Store(n)
			s.wake()
		}
		done <- struct{}{}
	}()
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for n := int64(1); n <= total; n++ {
			asked.Store(n)
			for limit := time.Duration(n%40) * time.Microsecond; heard.Load() < n; limit = -1 {
				s.wait(limit, false)
			}
		}
		done <- struct{}{}
	}()
	awaitAll(t, done, 2, heard.Load)
	require.GreaterOrEqual(t, s.count.Load(), uint32(1), "a wait has not given its count back")
	require.LessOrEqual(t, int64(s.count.Load()), total+1)
}

// After a persistent wake no wait sleeps, neither one that is under way nor any later one.
func TestPersistentWake(t *testing.T) {
	var s waitSlot
	s.init()
	began, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		close(began)
		for range 10 {
			s.wait(-1, false)
			s.wait(hang, false)
		}
	}()
	<-began
	s.persistentWake()
	select {
	case <-ended:
	case <-time.After(hang):
		t.Fatalf("a wait has not ended for %v", hang)
	}
}
