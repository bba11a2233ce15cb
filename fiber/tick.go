package fiber

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// ticking is a timer that fires every tick while a hand-switched root is attached.
// It does nothing, but while it runs the runtime's monitor does not oversleep:
// Go 1.26 may fail to stop the world at
// the first try if the monitor just looks at a goroutine that is in C, as all
// suspended fibers are; it then counts on the monitor, which sleeps for up to a
// minute when the world is about to stop and no timer is due.
//
// So a tick is the longest delay of a stop of the world. Each tick costs a thread's
// wake-up, so a program that is nearly idle, and seldom stops the world, has fewer.
var ticking struct {
	mu    sync.Mutex
	timer *time.Timer
	roots int
	every time.Duration // the tick at the moment
	used  time.Duration // the processor time at the last one
}

const (
	shortestTick = 10 * time.Millisecond
	longestTick  = 160 * time.Millisecond
	busyShare    = 10 // a program is busy if it takes one in so many parts of a processor's time
)

// startTicking counts a hand-switched root that is attached.
func startTicking() {
	t := &ticking
	t.mu.Lock()
	defer t.mu.Unlock()
	t.roots++
	if t.roots > 1 {
		return
	}
	t.every = shortestTick
	if t.timer == nil {
		t.timer = time.AfterFunc(t.every, tickAgain)
	} else {
		t.timer.Reset(t.every)
	}
}

// stopTicking uncounts one that is detached.
func stopTicking() {
	t := &ticking
	t.mu.Lock()
	defer t.mu.Unlock()
	t.roots--
	if t.roots == 0 {
		t.timer.Stop()
	}
}

func tickAgain() {
	t := &ticking
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.roots == 0 {
		return
	}
	used := processorTime()
	if used-t.used > t.every/busyShare {
		t.every = shortestTick
	} else {
		t.every = min(2*t.every, longestTick)
	}
	t.used = used
	t.timer.Reset(t.every)
}

// processorTime is the processor time of all threads of the program, in user and kernel mode.
func processorTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
