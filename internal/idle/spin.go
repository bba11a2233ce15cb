package idle

import (
	"time"

	"golang.org/x/sys/unix"

	"fiberlab/internal/clock"
	"fiberlab/internal/spinlock"
)

// The bounds of a spin. To bring work to a worker that spins takes no system call, and the worker begins many
// microseconds sooner than from a sleep. But a spin that finds nothing is lost. So a worker's budget follows from its
// last spins and sleeps. Between tasks that are far apart, the worker does not spin.
const (
	longestSpin  = clock.Instant(50 * time.Microsecond)
	shortestSpin = clock.Instant(2 * time.Microsecond)
)

// budget is how long a worker may spin next time. The zero value allows no spin. Only the worker uses it.
type budget struct {
	limit      clock.Instant // from shortestSpin to longestSpin, or 0
	brief      bool          // the last sleep was shorter than longestSpin; cleared by Commit after a wake-up in vain
	yieldFirst bool          // the last spin found work just after a yield in which another thread had run
}

// found says that a spin found work after that time. It raises the limit to four times that, at most to longestSpin.
// After 10 times longestSpin it sets it to 0: a thread that computes had the processor, and a sleep would be better.
func (b *budget) found(after clock.Instant) {
	b.limit = min(max(b.limit, 4*after), longestSpin)
	if after > 10*longestSpin {
		b.limit = 0
	}
}

// wasted says that a spin did not pay. It halves the limit; a limit below shortestSpin becomes 0, which is no spin.
func (b *budget) wasted() {
	if b.limit /= 2; b.limit < shortestSpin {
		b.limit = 0
	}
}

// slept says that the worker slept for that time. A second brief sleep in a row raises the limit to twice that time,
// within the bounds of a spin. A single one is no sign that more work is to come soon.
func (b *budget) slept(d clock.Instant) {
	again := b.brief
	b.brief = d < longestSpin
	if again && b.brief {
		b.limit = max(b.limit, min(2*d, longestSpin), shortestSpin)
	}
}

// delay is how long a worker that has run dry does not look for work, if spins have paid lately. Other processors keep
// the cache lines that they write in that time, and the worker then finds several entries instead of one. If it looked
// at each moment, these lines and its word would move between the processors for each entry.
const delay = clock.Instant(1200 * time.Nanosecond)

// Delay waits for that long, awake, and returns true. It returns false at once if a spin would not pay, or would first
// yield the processor to the thread that is to bring work.
func (w *Word) Delay() bool {
	if w.spin.limit == 0 || w.spin.yieldFirst {
		return false
	}
	for began := clock.Now(); clock.Now()-began < delay; {
		spinlock.Pause()
	}
	return true
}

// pollsPerSeek is how often a spinning worker polls its word between two calls of seek and of the clock.
const pollsPerSeek = 64

// shortestGap is how long a yield takes at least if another thread has run in that time.
const shortestGap = clock.Instant(time.Microsecond)

// Spin waits awake: until Notify, until seek returns true, until that time, or until it does not pay any more. It calls
// seek at first, and now and then. The worker must have called Look.
//
// It yields the processor now and then: the thread that is to bring work may wait for it. If the last spin found work
// just after another thread had run in a yield, this one yields after its first poll. A device that is ready ends the
// spin, but the spin counts as wasted: a device is best left to gather more.
func (w *Word) Spin(until clock.Instant, seek func() bool) {
	b := &w.spin
	if seek() || b.limit == 0 {
		return
	}
	began := clock.Now()
	end := min(began+b.limit, until)
	polls := pollsPerSeek
	if b.yieldFirst {
		polls = 1
	}
	b.yieldFirst = false
	for yielded := clock.Never; ; { // when it last yielded
		for i := range polls {
			if w.device != nil && w.device.Ready() {
				b.wasted()
				return
			}
			if w.Notified() {
				now := clock.Now()
				b.yieldFirst = i == 0 && now-yielded >= shortestGap
				b.found(now - began)
				return
			}
			spinlock.Pause()
		}
		if seek() {
			b.found(clock.Now() - began)
			return
		}
		if yielded = clock.Now(); yielded >= end {
			b.wasted()
			return
		}
		_, _, _ = unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
		polls = pollsPerSeek
	}
}
