// Package idle is how a worker that has nothing to run waits, and how others wake it.
//
// A worker has one word, which is its state:
//
//	        Look               Commit
//	busy ──────────► looking ──────────► asleep: on its thread, as a goroutine, or in a device
//	 ▲ ▲                │                   │
//	 │ └── Work, Notify ┘                   │ Notify
//	 └───────────── Sleep ───────────── waking
//
// The worker alone calls Delay, Look, Spin, Commit, Sleep and Work; any thread may call Notify.
//
// # Why no wake-up is lost
//
// A worker that has found nothing calls Look, looks for work once more, and then calls Commit. A thread that brings
// work first puts it where the worker looks, and then calls Notify. Both change memory by an atomic read and write, and
// load only then. So one of the two loads comes after the other party's change. Either the worker sees the work, or
// Notify sees that the worker is looking or asleep. In the first state Notify makes the word busy, and Commit fails. In
// the second it makes the word waking, and wakes the worker in the way that the word named.
//
// The sleep ends in each way if the word has changed already. FUTEX_WAIT compares the word. A goroutine receives from a
// channel, to which the one thread that changed the word from asleep sends. A device keeps a Wake until its next Wait.
// This is flare's WaitSlot without its count: a wake that comes before the wait is not lost.
package idle

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"

	"fiberlab/internal/clock"
)

// The states of a worker's word. Those from asleep on are the ways to sleep.
const (
	busy    = iota // it runs something, or has been notified and is to look for work: the zero value
	looking        // it has found nothing, and looks once more or spins
	waking         // it slept, has been notified, and takes a while until it runs
	asleep         // it sleeps, or is about to
)

// Way is how a worker sleeps.
type Way uint32

// The ways to sleep. While a worker sleeps, its word says in which way.
const (
	OnThread    Way = asleep + iota // the thread blocks in futex(2), on the word
	AsGoroutine                     // the goroutine parks, and its thread goes on with other goroutines
	InDevice                        // the thread blocks in the worker's Device
)

// Device is where a worker blocks if more than a Notify may end its sleep. The worker calls Wait and Ready. Any thread
// may call Wake.
type Device interface {
	// Ready reports whether Wait would return at once.
	Ready() bool
	// Wait blocks the thread until Wake, until the device is ready, or until limit has passed; below 0 is no limit. It
	// may also return for no reason. If brief is true, the wait is expected to be short.
	Wait(limit time.Duration, brief bool)
	// Wake ends the Wait that is under way, or else the next one. It does not block.
	Wake()
}

// Word is a worker's state, with what its ways to sleep need. New makes one.
type Word struct {
	_       [2]cpu.CacheLinePad // others write the next ones: 128 bytes from the rest, since lines are fetched in pairs
	state   atomic.Uint32
	WokenAt atomic.Int64         // when another thread woke the worker last, a clock.Instant
	waker   atomic.Pointer[Word] // what caller returned when it was woken last
	_       [2]cpu.CacheLinePad

	timeout  unix.Timespec // of the sleep on a thread that is under way
	caller   func() *Word
	token    chan struct{} // wakes the goroutine; has room for one
	device   Device
	way      Way  // of the last Commit
	byThread int  // wake-ups in a row by threads that could not run it; see WokenByThread
	inVain   bool // the worker has been woken, and has had nothing to run since
	spin     budget
}

// New makes the Word of a worker that is busy. When Notify wakes the worker, it calls caller to learn whether the
// calling thread could run the worker next. The result nil means yes, as soon as the calling goroutine waits. Locked
// means no. Another worker's Word means yes if that worker is idle when this one runs, else no.
func New(caller func() *Word) *Word {
	return &Word{caller: caller, token: make(chan struct{}, 1)}
}

// Locked stands for each goroutine that keeps its thread, also for a worker which needs its own. It is always busy.
var Locked = new(Word)

// SetDevice makes d the device in which the worker sleeps after Commit(InDevice). A spin ends when d is ready. Only the
// worker may call it, before it first looks for work.
func (w *Word) SetDevice(d Device) { w.device = d }

// Look says that the worker has found nothing to run. The worker must look for work once more before it sleeps.
//
// On amd64, a Store compiles to a Swap anyway. On arm64, qemu may let a later load pass a Store, but not a Swap.
func (w *Word) Look() { w.state.Swap(looking) }

// Work makes the worker busy: it has something to run, or looks for it. Until the next Look, Notify returns false.
func (w *Word) Work() {
	w.inVain = false
	w.state.Store(busy)
}

// Commit says that the worker is about to call Sleep, and in which way it sleeps. It returns false if the worker has
// been notified since Look, and must not sleep. A wake-up that brought the worker nothing to run is no sign of more
// work, nor of who will bring it. Commit clears what the worker has learned from such a wake-up.
func (w *Word) Commit(way Way) bool {
	if w.inVain {
		w.byThread, w.spin.brief = 0, false
	}
	w.way = way
	return w.state.CompareAndSwap(looking, uint32(way))
}

// Sleep blocks, after Commit, until the worker is notified, limit has passed (below 0: never), or its device is ready.
// On a thread and in a device it may also return for no reason. Afterwards the worker is busy, and looks for work.
func (w *Word) Sleep(limit time.Duration) {
	began := clock.Now()
	switch w.way {
	case OnThread:
		w.sleepOnThread(limit)
	case AsGoroutine:
		w.sleepAsGoroutine(limit)
	case InDevice:
		w.device.Wait(limit, w.spin.brief)
	}
	woken, now := w.state.Load() == waking, clock.Now()
	if woken || w.way != InDevice {
		w.spin.slept(now - began)
	}
	if woken {
		// A worker that runs late cannot know what its waker has done since.
		w.byThread++
		if waker := w.waker.Load(); waker == nil || !waker.Notified() || now > w.late() {
			w.byThread = 0
		}
	}
	w.Work()
	w.inVain = woken
}

// sleepAsGoroutine parks the calling goroutine until Notify, or until limit has passed; below 0 is no limit. At most
// one thread changes the word from asleep to waking, and sends one token. So the channel is empty before and after.
func (w *Word) sleepAsGoroutine(limit time.Duration) {
	if limit < 0 {
		<-w.token
		return
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-w.token:
	case <-timer.C:
		if !w.state.CompareAndSwap(uint32(AsGoroutine), busy) {
			<-w.token // another thread has just notified the worker, and sends
		}
	}
}

// Notify has the worker look for work, and wakes it if it sleeps. It returns false if the worker is busy, or has been
// notified already. Any thread may call it; it does not block.
func (w *Word) Notify() bool {
	for {
		old := w.state.Load()
		switch {
		case old == busy || old == waking:
			return false
		case old == looking:
			if w.state.CompareAndSwap(looking, busy) {
				return true
			}
		default:
			w.WokenAt.Store(int64(clock.Now()))
			w.waker.Store(w.caller())
			if w.state.CompareAndSwap(old, waking) {
				w.wake(Way(old))
				return true
			}
		}
	}
}

// wake wakes the worker, which sleeps in that way or is about to. Notify calls it, and has made the word waking.
func (w *Word) wake(way Way) {
	switch way {
	case OnThread:
		futexWake(&w.state)
	case AsGoroutine:
		w.token <- struct{}{}
	case InDevice:
		w.device.Wake()
	}
}

// Notified reports whether the worker is busy, or has been notified.
func (w *Word) Notified() bool { s := w.state.Load(); return s == busy || s == waking }

// Asleep reports whether the worker sleeps, or is about to, and has not been notified.
func (w *Word) Asleep() bool { return w.state.Load() >= asleep }

// AsleepIn reports whether the worker sleeps, or is about to, in that way.
func (w *Word) AsleepIn(way Way) bool { return w.state.Load() == uint32(way) }

// LongestWake is how long it may take a worker to wake before it counts as held up.
const LongestWake = time.Millisecond

// Waking reports whether the worker slept, has been notified at most LongestWake ago, and does not run yet.
func (w *Word) Waking() bool {
	return w.state.Load() == waking && clock.Now() < w.late()
}

// late is when a worker that has been notified counts as held up.
func (w *Word) late() clock.Instant {
	return clock.Instant(w.WokenAt.Load()) + clock.Instant(LongestWake)
}

// WokenByThread reports whether neither of the last two threads that woke the worker, and brought it work, could run
// it. Each went on with something else, and the worker ran within LongestWake. Only the worker calls it.
func (w *Word) WokenByThread() bool { return w.byThread >= 2 }
