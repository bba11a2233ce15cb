package fiber

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fiberlab/internal/goroutine"
)

// ticking is a timer that fires every tick while there is a demand for it. It does nothing, but while it runs the
// runtime's monitor does not oversleep. Go 1.26 may fail to stop the world at the first try if the monitor just looks
// at a goroutine that is in C with its P. It then counts on the monitor. But that sleeps for up to a minute when the
// world is about to stop and no timer is due.
//
// So a tick is the longest delay of a stop of the world. Each tick costs a thread's wake-up, so a program that is
// nearly idle, and seldom stops the world, has fewer. And while any timer is pending, each of the runtime's threads
// that runs out of work waits in its poller for it, and has to be called off from there.
//
// No timer is ever stopped or reset: if it was set in a bubble of testing/synctest, only the bubble may do that, and
// the bubble may have ended. Instead, each belongs to a series, and does nothing if that is not the present one.
var ticking struct {
	mu      sync.Mutex
	series  int  // of timers, each of which sets the next
	pending bool // the series has a timer that will fire; false if only a bubble knows whether
	wanted  demand
	every   time.Duration // the tick at the moment
	used    time.Duration // the processor time at the last one
	last    time.Duration // when that was, by monotonic
}

// demand counts what may be in C with a P for long.
type demand struct {
	roots  int // hand-switched roots that may block their thread without giving up the P: they never untied themselves
	bodies int // C bodies, which may do so while a root runs them
}

func (d demand) none() bool { return d.roots == 0 && d.bodies == 0 }

const (
	shortestTick = 10 * time.Millisecond
	longestTick  = 160 * time.Millisecond
	busyShare    = 10 // a program is busy if it uses at least 1/busyShare of a processor
)

// tickFor adds more to the demand. If that is the first again, a timer that is still pending goes on: bodies
// may come and go much faster than ticks.
func tickFor(more demand) {
	t := &ticking
	t.mu.Lock()
	defer t.mu.Unlock()
	first := t.wanted.none()
	t.wanted.roots += more.roots
	t.wanted.bodies += more.bodies
	if more.roots <= 0 && !(first && more.bodies > 0) {
		return
	}
	if first {
		t.every = shortestTick
	}
	if now := monotonic(); first && !t.pending || now-t.last > 4*longestTick {
		t.series++
		t.pending = !goroutine.InBubble()
		t.every = shortestTick
		t.last = now
		setTick(t.series)
	}
}

// stopTicking takes back what the root f has wanted since it was attached, if it still does.
func (f *Fiber) stopTicking() {
	if f.ticks {
		f.ticks = false
		tickFor(demand{roots: -1})
	}
}

// setTick sets the next timer of a series. The caller holds mu.
func setTick(series int) { time.AfterFunc(ticking.every, func() { tick(series) }) }

func tick(series int) {
	t := &ticking
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.series != series {
		return
	}
	if t.wanted.none() {
		t.pending = false
		return
	}
	used := processorTime()
	if used-t.used > t.every/busyShare {
		t.every = shortestTick
	} else {
		t.every = min(2*t.every, longestTick)
	}
	t.used = used
	t.last = monotonic()
	setTick(series)
}

// monotonic is the kernel's monotonic clock. Unlike package time's it goes on in a bubble of testing/synctest.
func monotonic() time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return 0
	}
	return time.Duration(now.Nano())
}

// processorTime is the processor time of all threads of the program, in user and kernel mode.
func processorTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
