package sched

import (
	"sync/atomic"
	"time"

	"fiberlab/internal/clock"
)

// eventcount is how a worker that has run out of work is told that there is some. Its owner alone prepares it, commits
// and sleeps; any thread may notify it.
//
// The order prevents lost wake-ups. A thread that brings work first puts it where the worker will find it, then
// notifies. The worker first prepares, then looks for work once more, and only then sleeps. So either it sees the work,
// or it has been notified since it prepared. While a worker is busy, to notify it costs a load.
//
// The worker prepares with a Swap, and a thread that stores what the worker looks for does so with one. On amd64 that is the instruction of a
// Store. On arm64 it keeps the order even in an emulator, qemu, which lets the load that follows pass a Store.
//
// The thread sleeps on a futex, futex(2), and not on a lock of the Go runtime: a goroutine that is locked to its thread,
// as a worker is, is woken by way of a second thread there, which takes several times as long.
type eventcount struct {
	countWord
	since atomic.Int64 // when it was notified while its owner slept, a clock.Instant

	blocker blocker // its owner sleeps in it; nil: on a futex
}

// countWord is what an eventcount holds: one of the constants below.
type countWord struct{ word atomic.Uint32 }

const (
	countNotified = iota // there may be work: the zero value
	countPrepared        // none was found; the owner looks for work once more, or spins
	countAsleep          // the owner sleeps, or is about to
	countWaking          // it did when it was notified, and it takes a while until it is awake
)

// Only the owner may call prepare, commit and work.

func (c *countWord) prepare()     { c.word.Swap(countPrepared) }
func (c *countWord) commit() bool { return c.word.CompareAndSwap(countPrepared, countAsleep) }
func (c *countWord) work()        { c.word.Store(countNotified) }

// tell says that there is work, and tells whether the owner was idle, and whether it was asleep and has to be woken. It is for
// drivers without countWaking; any thread may call it.
func (c *countWord) tell() (idle, asleep bool) {
	old := c.word.Swap(countNotified)
	return old != countNotified, old == countAsleep
}

func (c *countWord) notified() bool { return c.word.Load() == countNotified }
func (c *countWord) asleep() bool   { return c.word.Load() == countAsleep }

// longestWake is how long it may take a thread to wake before it counts as held up.
const longestWake = time.Millisecond

// waking tells whether the owner has slept and is just being woken.
func (e *eventcount) waking() bool {
	return e.word.Load() == countWaking && clock.Now()-clock.Instant(e.since.Load()) < clock.Instant(longestWake)
}

// notify tells the owner that there is work, and wakes it if it sleeps. It returns false
// if the owner is busy, or has been told already.
func (e *eventcount) notify() bool {
	for {
		switch e.word.Load() {
		case countPrepared:
			if e.word.CompareAndSwap(countPrepared, countNotified) {
				return true
			}
		case countAsleep:
			e.since.Store(int64(clock.Now()))
			if e.word.CompareAndSwap(countAsleep, countWaking) {
				if e.blocker != nil {
					e.blocker.Wake()
				} else {
					futexWakeOne(&e.word)
				}
				return true
			}
		default:
			return false
		}
	}
}

// stop is an ordinary notify: the worker finds that it is finished, and does not sleep again.
func (e *eventcount) stop() { e.notify() }

// sleep blocks the thread, which has committed, until it is notified, or until limit
// has passed; a negative limit is none. brief says that it is expected to be soon. It
// leaves the count notified, and tells whether it was before.
func (e *eventcount) sleep(limit time.Duration, brief bool) (woken bool) {
	// An early end, by a signal, is found by the caller, which looks for work anew.
	if e.blocker != nil {
		e.blocker.Wait(limit, brief)
	} else {
		futexSleep(&e.word, countAsleep, limit, brief)
	}
	woken = e.word.Load() != countAsleep
	e.work()
	return woken
}
