package sched

import (
	"time"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"

	"fiberlab/internal/clock"
	"fiberlab/internal/spinlock"
)

// futexDriver is the first driver: the worker spins as long as that pays, and then sleeps on a
// futex.
type futexDriver struct {
	_ [2]cpu.CacheLinePad // others write the eventcount: 128 bytes from the rest, see masks
	eventcount
	_      [2]cpu.CacheLinePad
	budget spinBudget

	yieldFirst bool // the last spin found work as soon as it had yielded, to another thread
}

func newFutexDriver() *futexDriver { return new(futexDriver) }

// sleepIn implements sleeper.
func (d *futexDriver) sleepIn(b blocker) { d.blocker = b }

func (d *futexDriver) sleep(limit time.Duration) {
	began := clock.Now()
	if woken := d.eventcount.sleep(limit, d.budget.brief); woken || d.blocker == nil {
		d.budget.slept(clock.Now() - began)
	}
}

// A spin saves the worker that brings work a system call, and this one many microseconds until it is awake. But a spin
// that finds nothing is lost, so each worker spins no longer than has paid lately, and not at all between tasks that
// are far apart.
const (
	longestSpin  = clock.Instant(50 * time.Microsecond)
	shortestSpin = clock.Instant(2 * time.Microsecond)
)

// spinBudget is how long a worker may spin, next time. The zero value says not at all.
type spinBudget struct {
	limit clock.Instant // from shortestSpin to longestSpin, or 0
	brief bool          // its last sleep was so short that a spin would have found the work
}

// found says that a spin found work after that time.
func (b *spinBudget) found(after clock.Instant) { b.limit = min(max(b.limit, 4*after), longestSpin) }

// wasted says that a spin found nothing.
func (b *spinBudget) wasted() {
	if b.limit /= 2; b.limit < shortestSpin {
		b.limit = 0
	}
}

// slept says that the worker slept for that time. Two brief sleeps in a row make it spin: a single one does not
// tell that more work is to come soon.
func (b *spinBudget) slept(d clock.Instant) {
	again := b.brief
	b.brief = d < longestSpin
	if again && b.brief {
		b.limit = max(b.limit, min(2*d, longestSpin), shortestSpin)
	}
}

// pollsPerSeek is how often a spinning worker polls its eventcount between two calls of seek and of the clock.
const pollsPerSeek = 64

// shortestGap is how long a yield takes at least if another thread has run meanwhile.
const shortestGap = clock.Instant(time.Microsecond)

// spin yields the processor now and then: the thread that is to bring work may wait for it. Where that was so the last
// time, it yields after a single poll. What a device brings ends a spin, but does not make spins pay: a device is best left to gather more.
func (d *futexDriver) spin(until clock.Instant, seek func() bool) {
	if seek() || d.budget.limit == 0 {
		return
	}
	began := clock.Now()
	end := min(began+d.budget.limit, until)
	polls := pollsPerSeek
	if d.yieldFirst {
		polls = 1
	}
	d.yieldFirst = false
	for yielded := clock.Never; ; { // when it last yielded
		for i := range polls {
			if d.blocker != nil && d.blocker.Ready() {
				d.budget.wasted()
				return
			}
			if d.notified() {
				now := clock.Now()
				d.yieldFirst = i == 0 && now-yielded >= shortestGap
				d.budget.found(now - began)
				return
			}
			spinlock.Pause()
		}
		if seek() {
			d.budget.found(clock.Now() - began)
			return
		}
		if yielded = clock.Now(); yielded >= end {
			d.budget.wasted()
			return
		}
		_, _, _ = unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
		polls = pollsPerSeek
	}
}
