package sched

import (
	"math/bits"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"

	"fiberlab/internal/clock"
	"fiberlab/internal/histogram"
	"fiberlab/internal/spinlock"
)

// masks has a bit for each worker of a group in two masks: the workers that spin, and the workers that sleep. It decides which of
// them is woken.
//
// A worker that is brought something to run is claimed: its bit is cleared, by an instruction that tells whether it was set, so
// each worker is claimed for one thing at a time. The lowest bit comes first; under light load the
// workers of higher numbers sleep on.
//
// A submitter stores into a queue and then loads the masks; a worker sets its bit and then loads the queue's counts. Between the two
// each of them has an atomic read and write, which is sequentially consistent in Go: the submitter releases the queue's lock of pushes, and the
// worker's is the one that sets the bit. With less, both loads may come before the
// stores are seen, so neither sees the other's, and the thing waits while the worker sleeps.
type masks struct {
	_        [2]cpu.CacheLinePad // 128 bytes between what different processors write: they fetch lines in pairs
	spinning atomic.Uint64
	_        [2]cpu.CacheLinePad
	sleeping atomic.Uint64
	_        [2]cpu.CacheLinePad
	// A worker that spun has found work, so there is one spinner less: a worker that still spins shall wake another.
	pending atomic.Bool
	_       [2]cpu.CacheLinePad
	// A worker has been claimed for what waits in another group, see wakeThief.
	called atomic.Bool
	_      [2]cpu.CacheLinePad

	spinners int                      // that may spin at once
	wake     func(int) bool           // notifies a worker, and tells whether it was idle
	woken    func(i int, asleep bool) // tells the recorder of a wake-up; nil: there is none
	_        [2]cpu.CacheLinePad
	wakes    wakes
	_        [2]cpu.CacheLinePad
}

// wakes counts the wake-ups of a group; see GroupStats.
type wakes struct {
	none, spinner, sleeper atomic.Uint64
	claimed                [GroupSize]atomic.Int64 // when each worker was claimed that sleeps, a clock.Instant; 0: it was not
	latency                histogram.Histogram
}

// claim clears the lowest bit of a mask and returns its number, or -1 if there is none.
func claim(mask *atomic.Uint64) int {
	for m := mask.Load(); m != 0; m = mask.Load() {
		i := bits.TrailingZeros64(m)
		if take(mask, i) {
			return i
		}
		spinlock.Pause() // another submitter was quicker, and may be at the next bit too
	}
	return -1
}

// anyIdle reports whether a worker spins or sleeps.
func (m *masks) anyIdle() bool { return m.spinning.Load()|m.sleeping.Load() != 0 }

// take clears one bit, and tells whether it was set.
func take(mask *atomic.Uint64, i int) bool { return mask.And(^uint64(1<<i))&(1<<i) != 0 }

// wakeOne wakes a worker: it claims a spinning worker, which costs no system call,
// or a sleeping one. A worker that has been notified for something else is passed over. It reports whether
// there was one.
func (m *masks) wakeOne() bool {
	if !m.anyIdle() {
		return false
	}
	for i := claim(&m.spinning); i >= 0; i = claim(&m.spinning) {
		if m.wakeSpinning(i) {
			return true
		}
	}
	return m.wakeSleeper()
}

// wakeSleeper is wakeOne without the spinners.
func (m *masks) wakeSleeper() bool {
	for i := claim(&m.sleeping); i >= 0; i = claim(&m.sleeping) {
		if m.wakeAsleep(i) {
			return true
		}
	}
	return false
}

// wakeThat wakes one worker in particular, unless it is busy or has been claimed for something else: it
// takes one thing at a time. It tells whether it did.
func (m *masks) wakeThat(i int) bool {
	if take(&m.spinning, i) {
		return m.wakeSpinning(i)
	}
	return take(&m.sleeping, i) && m.wakeAsleep(i)
}

// wakeSpinning wakes a worker that has been claimed while it spun. It returns false if that has been notified for something else.
func (m *masks) wakeSpinning(i int) bool {
	if !m.wake(i) {
		return false
	}
	m.wakes.spinner.Add(1)
	if m.woken != nil {
		m.woken(i, false)
	}
	return true
}

// wakeAsleep is wakeSpinning for a worker that has been claimed while it slept. The time is stored before the worker is notified, so
// that it finds the time when it wakes.
func (m *masks) wakeAsleep(i int) bool {
	at := int64(clock.Now())
	m.wakes.claimed[i].Store(at)
	if !m.wake(i) {
		m.wakes.claimed[i].CompareAndSwap(at, 0) // something else has woken it
		return false
	}
	m.wakes.sleeper.Add(1)
	if m.woken != nil {
		m.woken(i, true)
	}
	return true
}

// beginSpin sets the bit of a worker that spins from now on, unless enough others do. It tells whether it did. With a
// look at the mask and a later store, too many might.
func (m *masks) beginSpin(i int) bool {
	for {
		old := m.spinning.Load()
		if bits.OnesCount64(old) >= m.spinners {
			return false
		}
		if m.spinning.CompareAndSwap(old, old|1<<i) {
			return true
		}
	}
}

// endSpin clears the bit of a worker that leaves.
func (m *masks) endSpin(i int) { take(&m.spinning, i) }

// beginSleep sets the bit of a worker that is about to sleep; it has to look for work once more then.
func (m *masks) beginSleep(i int) {
	m.wakes.claimed[i].Store(0)
	m.sleeping.Or(1 << i)
}

// endSleep clears the bit of a worker that sleeps no more, and tells whether it had been claimed.
func (m *masks) endSleep(i int) (claimed bool) {
	claimed = !take(&m.sleeping, i)
	if at := m.wakes.claimed[i].Load(); claimed && at != 0 {
		m.wakes.latency.Add(time.Duration(int64(clock.Now()) - at))
	}
	return claimed
}

// leaveWake says that a worker that spun has something to run. If others still spin, they have nothing better to do than to
// wake a worker in its place.
func (m *masks) leaveWake() {
	if n := bits.OnesCount64(m.spinning.Load()); n > 0 && n < m.spinners {
		m.pending.Store(true)
	}
}

// serve wakes a worker if a spinner has left that to the others. A worker that spins calls it.
func (m *masks) serve() {
	if m.pending.Load() && m.pending.Swap(false) {
		m.wakeSleeper()
	}
}
