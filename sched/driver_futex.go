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
	_ cpu.CacheLinePad // others write the eventcount: they must not take the cache lines of the rest
	eventcount
	_      cpu.CacheLinePad
	budget spinBudget
}

func newFutexDriver() *futexDriver { return new(futexDriver) }

func (d *futexDriver) sleep(limit time.Duration) {
	began := clock.Now()
	d.eventcount.sleep(limit, d.budget.brief)
	d.budget.slept(clock.Now() - began)
}

// A spin saves the worker that brings work a system call, and this one many microseconds until it is awake. But a spin
// that finds nothing is lost, so each worker spins no longer than has paid lately.
const (
	longestSpin  = clock.Instant(50 * time.Microsecond)
	shortestSpin = clock.Instant(2 * time.Microsecond)
)

// spinBudget is how long a worker may spin, next time.
type spinBudget struct {
	limit clock.Instant
	brief bool // its last sleep was so short that a spin would have found the work
}

// found says that a spin found work after that time.
func (b *spinBudget) found(after clock.Instant) { b.limit = min(max(b.limit, 4*after), longestSpin) }

// wasted says that a spin found nothing.
func (b *spinBudget) wasted() { b.limit = max(b.limit/2, shortestSpin) }

// slept says that the worker slept for that time.
func (b *spinBudget) slept(d clock.Instant) {
	b.brief = d < longestSpin
	if b.brief {
		b.limit = max(b.limit, min(2*d, longestSpin))
	}
}

// pollsPerSeek is how often a spinning worker polls its eventcount between two calls of seek and of the clock.
const pollsPerSeek = 64

func (d *futexDriver) spin(until clock.Instant, seek func() bool) {
	if seek() {
		return
	}
	began := clock.Now()
	end := min(began+max(d.budget.limit, shortestSpin), until)
	for {
		for range pollsPerSeek {
			if d.notified() {
				d.budget.found(clock.Now() - began)
				return
			}
			spinlock.Pause()
		}
		if seek() {
			d.budget.found(clock.Now() - began)
			return
		}
		if clock.Now() >= end {
			d.budget.wasted()
			return
		}
		_, _, _ = unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	}
}
