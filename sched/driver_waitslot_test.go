package sched

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

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

// A second thread that waits would make the count negative, and wakes would be lost.
func TestWaitSlotPanicsAtANegativeCount(t *testing.T) {
	for name, f := range map[string]func(*waitSlot){
		"wait": func(s *waitSlot) { s.wait(0, false) },
		"wake": func(s *waitSlot) { s.count.Store(^uint32(1)); s.wake() },
	} {
		s := new(waitSlot) // the owner sleeps
		require.PanicsWithValue(
			t, "sched: the count of a wait slot is -1: more than one thread waits in it", func() { f(s) }, name,
		)
	}
}

// What other threads write has no cache line, nor the neighbour of one, together with what the worker uses.
func TestWordsOfOthersLieApart(t *testing.T) {
	const apart = 128
	var slot slotDriver
	require.GreaterOrEqual(t, unsafe.Offsetof(slot.countWord), uintptr(apart))
	require.GreaterOrEqual(
		t, unsafe.Offsetof(slot.slept)-unsafe.Offsetof(slot.slot)-unsafe.Sizeof(slot.slot), uintptr(apart),
	)
	var futex futexDriver
	require.GreaterOrEqual(t, unsafe.Offsetof(futex.eventcount), uintptr(apart))
	require.GreaterOrEqual(
		t, unsafe.Offsetof(futex.budget)-unsafe.Offsetof(futex.eventcount)-unsafe.Sizeof(futex.eventcount),
		uintptr(apart),
	)
	var untied untiedSleep
	require.GreaterOrEqual(
		t, unsafe.Offsetof(untied.word)-unsafe.Offsetof(untied.parker)-unsafe.Sizeof(untied.parker), uintptr(apart),
	)
	require.GreaterOrEqual(
		t, unsafe.Sizeof(untied)-unsafe.Offsetof(untied.word)-unsafe.Sizeof(untied.word), uintptr(apart),
	)
	var w Worker
	require.GreaterOrEqual(t, unsafe.Offsetof(w.mailbox)-unsafe.Offsetof(w.done)-unsafe.Sizeof(w.done), uintptr(apart))
	require.GreaterOrEqual(
		t, unsafe.Offsetof(w.local)-unsafe.Offsetof(w.running)-unsafe.Sizeof(w.running), uintptr(apart),
	)
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
