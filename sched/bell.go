package sched

import (
	"sync/atomic"
	"time"

	"fiberlab/internal/clock"
)

// bell is how a worker that has run out of work is told that there is some. Its
// owner alone hushes it, polls it and sleeps on it; anybody may ring.
//
// The order makes that nothing is missed. Whoever brings work first puts it
// where the worker will find it, then rings. The worker first hushes the bell,
// then looks for work once more, and only then sleeps. So either it sees the work,
// or the bell has been rung since it was hushed. A worker that is busy leaves the
// bell rung, and ringing it costs a load.
//
// The thread sleeps on a futex, futex(2), and not on a lock of the Go runtime: a
// goroutine that is locked to its thread, as a worker is, is woken by way of a second
// thread there, which takes several times as long.
type bell struct {
	word  atomic.Uint32
	since atomic.Int64 // when it was rung while its owner slept, an instant
}

const (
	rung    = iota // there may be work: the zero value
	hushed         // none was found; the owner is looking once more or spins
	slumber        // the owner sleeps, or is about to
	roused         // it did when the bell was rung, and it takes a while until it is awake
)

func (b *bell) hush()         { b.word.Store(hushed) }
func (b *bell) wasRung() bool { return b.word.Load() == rung }

// longestWake is how long it may take a thread to wake before it counts as held up.
const longestWake = time.Millisecond

// waking tells whether the owner has slept and is just being woken.
func (b *bell) waking() bool {
	return b.word.Load() == roused && clock.Now()-clock.Instant(b.since.Load()) < clock.Instant(longestWake)
}

// busy says that the owner has found work.
func (b *bell) busy() { b.word.Store(rung) }

// ring tells the owner that there is work, and wakes it if it sleeps. It returns false
// if the owner is busy, or has been told already.
func (b *bell) ring() bool { return b.word.Load() != rung && b.ringIdle() }

// ringIdle is ring where the owner was not busy.
func (b *bell) ringIdle() bool {
	for {
		switch b.word.Load() {
		case hushed:
			if b.word.CompareAndSwap(hushed, rung) {
				return true
			}
		case slumber:
			b.since.Store(int64(clock.Now()))
			if b.word.CompareAndSwap(slumber, roused) {
				futexRouse(&b.word)
				return true
			}
		default:
			return false
		}
	}
}

// lieDown says that the owner is about to sleep, unless the bell has been rung since it was
// hushed: it returns false then.
func (b *bell) lieDown() bool { return b.word.CompareAndSwap(hushed, slumber) }

// isAsleep tells whether the owner sleeps, or is about to, and nobody has rung.
func (b *bell) isAsleep() bool { return b.word.Load() == slumber }

// sleep blocks the thread, which has lain down, until the bell is rung, or until limit
// has passed; a negative limit is none. brief says that it is expected to be soon. It
// leaves the bell rung.
func (b *bell) sleep(limit time.Duration, brief bool) {
	// An early end, by a signal, is found by the caller, who looks for work anew.
	futexSleep(&b.word, slumber, limit, brief)
	b.word.Store(rung)
}
